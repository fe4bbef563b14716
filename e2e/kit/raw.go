//go:build unix

package kit

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"testing"
	"time"
)

// Raw is a client that writes lines itself, to send what no library would send.
type Raw struct {
	T      *testing.T
	Cmd    *exec.Cmd
	In     io.WriteCloser
	Out    *bufio.Reader
	Stdout io.Closer // below Out
}

// StartRaw starts a prepared server, which ends with the test.
func StartRaw(t *testing.T, cmd *exec.Cmd) *Raw {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.WaitDelay = Farewell
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &Raw{T: t, Cmd: cmd, In: in, Out: bufio.NewReaderSize(out, 1<<20), Stdout: out}
	t.Cleanup(func() {
		_ = in.Close()
		stop := time.AfterFunc(Farewell, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		if !stop.Stop() {
			t.Error("the server did not leave with its client")
		}
		WantTier(t, cmd.Env)
	})
	return r
}

// Send writes lines.
func (r *Raw) Send(lines string) {
	r.T.Helper()
	if _, err := io.WriteString(r.In, lines+"\n"); err != nil {
		r.T.Fatal(err)
	}
}

// Line makes the line of a tool call.
func (r *Raw) Line(id int, tool string, a any) string {
	r.T.Helper()
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": a},
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return string(data)
}

// Message is one line of the server.
type Message struct {
	T      *testing.T `json:"-"`
	ID     int
	Result struct {
		Content []struct{ Text string }
		IsError bool
	}
	Error *struct {
		Code    int
		Message string
	}
	Line string `json:"-"` // as it came
}

// Text is the answer of a tool, or the whole line.
func (m Message) Text() string {
	if len(m.Result.Content) == 0 {
		return m.Line
	}
	return m.Result.Content[0].Text
}

// JSON reads an answer of family B.
func (m Message) JSON() JSONBody {
	m.T.Helper()
	var b JSONBody
	if err := json.Unmarshal([]byte(m.Text()), &b); err != nil {
		m.T.Fatalf("not JSON: %v\n%s", err, m.Line)
	}
	return b
}

// Receive returns the next line of the server.
func (r *Raw) Receive() Message {
	r.T.Helper()
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := r.Out.ReadString('\n')
		got <- read{line, err}
	}()
	select {
	case x := <-got:
		if x.err != nil {
			r.T.Fatalf("the server said no more: %v", x.err)
		}
		m := Message{T: r.T, Line: x.line}
		if err := json.Unmarshal([]byte(x.line), &m); err != nil {
			r.T.Fatalf("standard output is not the protocol's alone: %v\n%s", err, x.line)
		}
		return m
	case <-time.After(time.Minute): // 10 MB under the race detector, on a machine that does more
		r.T.Fatal("the server did not answer within a minute")
	}
	return Message{}
}

// Call calls a tool and returns the next line of the server.
func (r *Raw) Call(id int, tool string, a any) Message {
	r.T.Helper()
	r.Send(r.Line(id, tool, a))
	return r.Receive()
}

// Initialize opens the conversation.
func (r *Raw) Initialize() {
	r.T.Helper()
	r.Send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	r.Receive()
	r.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}
