//go:build unix

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"testing"
	"time"
)

// raw is a client that writes lines itself, for what no library would send.
type raw struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader

	stdout io.Closer
}

// startRaw starts a prepared server.
func startRaw(t *testing.T, cmd *exec.Cmd) *raw {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &raw{t: t, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20), stdout: out}
	t.Cleanup(func() {
		_ = in.Close()
		stop := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		if !stop.Stop() {
			t.Error("the server did not leave with its client")
		}
	})
	return r
}

func (r *raw) send(lines string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, lines+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

// line makes the line of a tool call.
func (r *raw) line(id int, tool string, a any) string {
	r.t.Helper()
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": a},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// message is one line of the server.
type message struct {
	t      *testing.T
	ID     int
	RawID  json.RawMessage `json:"-"`
	Result struct {
		Content []struct{ Text string }
		IsError bool
	}
	Error *struct {
		Code    int
		Message string
	}
	line string
}

func (m message) text() string {
	if len(m.Result.Content) == 0 {
		return m.line
	}
	return m.Result.Content[0].Text
}

func (m message) json() jsonBody {
	m.t.Helper()
	var b jsonBody
	if err := json.Unmarshal([]byte(m.text()), &b); err != nil {
		m.t.Fatalf("not JSON: %v\n%s", err, m.line)
	}
	return b
}

// receive returns the next line of the server.
func (r *raw) receive() message {
	r.t.Helper()
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := r.out.ReadString('\n')
		got <- read{line, err}
	}()
	select {
	case x := <-got:
		if x.err != nil {
			r.t.Fatalf("the server said no more: %v", x.err)
		}
		m := message{t: r.t, line: x.line}
		if err := json.Unmarshal([]byte(x.line), &m); err != nil {
			r.t.Fatalf("standard output is not the protocol's alone: %v\n%s", err, x.line)
		}
		return m
	case <-time.After(20 * time.Second):
		r.t.Fatal("the server did not answer within 20 s")
	}
	return message{}
}

func (r *raw) call(id int, tool string, a any) message {
	r.t.Helper()
	r.send(r.line(id, tool, a))
	return r.receive()
}

func (r *raw) initialize() {
	r.t.Helper()
	r.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	r.receive()
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}
