//go:build linux && !race

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/e2e/kit"
	"tipstaff/internal/audit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// ends are the ways in which a server is told to end, with its exit code.
var ends = []struct {
	name string
	code int
	tell func(r *kit.Raw)
}{
	{"SIGTERM", 0, func(r *kit.Raw) { _ = r.Cmd.Process.Signal(syscall.SIGTERM) }},
	{"SIGINT", 130, func(r *kit.Raw) { _ = r.Cmd.Process.Signal(syscall.SIGINT) }},
	{"the end of the input", 0, func(r *kit.Raw) { _ = r.In.Close() }},
}

// endSoon is the two seconds for which answers are kept for a client that does not read
// them, those in which commands are ended (contract T4), and room for a busy machine.
// Without a bound the server never ended.
const endSoon = 30 * time.Second

// wantEnded is true of a server that has ended in time with its code, and whose record
// is closed and signed.
func wantEnded(t *testing.T, s *kit.Server, code int) {
	t.Helper()
	if !kit.Gone(s.Cmd.Process.Pid, endSoon) {
		_ = s.Cmd.Process.Kill()
		t.Fatalf("the server has not ended within %v", endSoon)
	}
	_ = s.Cmd.Wait()
	if got := s.Cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("the server has exited with %d", got)
	}
	records := s.Records()
	if last := records[len(records)-1]; last["event"] != "server.stop" {
		t.Errorf("the last record is %v", last["event"])
	}
	if report, err := audit.Verify(s.State+"/audit", audit.VerifyOptions{}); err != nil || report.Status() != audit.OK {
		t.Errorf("the trail: %v, %+v", err, report)
	}
}

// fullPipe is a pipe that is full, and that nothing reads: a write to it blocks.
func fullPipe(t *testing.T) (w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	if n := stuff(t, w); n == 0 {
		t.Fatal("nothing could be written to a new pipe")
	}
	return w
}

// stuff fills a pipe, and returns how many bytes it took.
func stuff(t *testing.T, w *os.File) (took int) {
	t.Helper()
	// Opened once more, so that the other one stays one that blocks.
	own, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", w.Fd()), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(own) }()
	for {
		n, err := unix.Write(own, []byte("\n"))
		if err != nil {
			return took
		}
		took += n
	}
}

// deaf are servers whose standard error takes nothing: the log stands there, and copies
// of the record if the operator wants them.
var deaf = map[string][]string{
	"the log":                            nil,
	"the log, and copies of the records": {"TIPSTAFF_AUDIT_SINKS=stderr"},
}

// TestAnUnreadStandardErrorHoldsUpNothing: calls are answered, and the server ends.
func TestAnUnreadStandardErrorHoldsUpNothing(t *testing.T) {
	for what, env := range deaf {
		for _, end := range ends {
			t.Run(what+"/"+end.name, func(t *testing.T) {
				t.Parallel()
				s := prepare(t, setup{env: append(env, kit.Sandboxed(kit.None)...)})
				pipe := fullPipe(t)
				s.Cmd.Stderr = pipe
				r := kit.StartRaw(t, s.Cmd)
				r.Initialize()
				for i := range 20 {
					if got := r.Call(i+1, "execute_command", kit.Args{"command": "echo well"}).Text(); !strings.Contains(got, "well") {
						t.Fatalf("call %d: %s", i, got)
					}
				}
				end.tell(r)
				wantEnded(t, s, end.code)
				if n := stuff(t, pipe); n != 0 {
					t.Errorf("%d bytes of the pipe have been free: nothing is shown", n)
				}
			})
		}
	}
}

func TestOverHTTPAnUnreadStandardErrorHoldsUpNothing(t *testing.T) {
	testcmdtest.Long(t)
	for what, env := range deaf {
		for _, end := range ends[:2] {
			t.Run(what+"/"+end.name, func(t *testing.T) {
				t.Parallel()
				pipe := fullPipe(t)
				w := serveSocket(t, pipe, env...)
				for range 20 {
					if got := w.modern("", kit.Args{"file": "echo", "args": []string{"well"}}, nil).text(); !strings.Contains(got, "well") {
						t.Fatalf("answered is %s", got)
					}
				}
				end.tell(&kit.Raw{Cmd: w.Cmd})
				wantEnded(t, w.Server, end.code)
				if n := stuff(t, pipe); n != 0 {
					t.Errorf("%d bytes of the pipe have been free: nothing is shown", n)
				}
			})
		}
	}
}

// serveSocket starts a server over HTTP at a Unix socket, whose buffers are small.
func serveSocket(t *testing.T, stderr io.Writer, env ...string) *webServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "t") //nolint:usetesting // the name of a socket is short, that of a test is not
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	s := prepare(t, setup{env: append(env, kit.Sandboxed(kit.None)...)})
	s.Cmd.Args = append(s.Cmd.Args, "--http", "unix:"+socket)
	s.Cmd.Stderr = stderr
	if err := s.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Cmd.Process.Kill(); _ = s.Cmd.Wait() })
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	kit.Eventually(t, "the server listens", func() bool {
		c, err := dial(t.Context(), "", "")
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return &webServer{Server: s, url: "http://localhost/mcp", base: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
}

// large is a command whose answer fits in no pipe and no socket.
var large = kit.Args{"file": "sh", "args": []string{"-c", "seq 1 150000"}}

// ended counts the commands whose end is recorded.
func ended(s *kit.Server) (n int) {
	for _, r := range s.Records() {
		if r["event"] == "command.end" {
			n++
		}
	}
	return n
}

// TestAnUnreadStandardOutputHoldsUpNoEnd: commands are ended, and the record is closed.
func TestAnUnreadStandardOutputHoldsUpNoEnd(t *testing.T) {
	testcmdtest.Long(t)
	for _, end := range ends {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			s, m := prepare(t, setup{env: kit.Sandboxed(kit.None)}), kit.NewMark(t)
			s.House()
			r := kit.StartRaw(t, s.Cmd)
			r.Initialize()
			r.Send(r.Line(1, "execute_process", kit.Args{"file": "sh", "args": m.InEnvironment(kit.Family)}))
			m.WantHolders(t, kit.Members)
			r.Send(r.Line(2, "execute_process", large))
			kit.Eventually(t, "the pipe is full", func() bool { return waiting(t, r) == 64<<10 })
			end.tell(r)
			m.WantNone(t, heldUp)
			wantEnded(t, s, end.code)
		})
	}
}

// waiting returns how many bytes of the server have not been read: FIONREAD.
func waiting(t *testing.T, r *kit.Raw) (n int) {
	t.Helper()
	raw, err := r.Stdout.(*os.File).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOverHTTPAnUnreadAnswerHoldsUpNoEnd(t *testing.T) {
	testcmdtest.Long(t)
	for _, end := range ends[:2] {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			w, m := serveSocket(t, &kit.Buffer{}), kit.NewMark(t)
			w.House()
			unread, err := w.client("").Do(w.request(large))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = unread.Body.Close() }()
			kit.Eventually(t, "the command has ended whose answer is large", func() bool { return ended(w.Server) == 1 })
			go func() {
				resp, err := w.client("").Do(w.request(kit.Args{"file": "sh", "args": m.InEnvironment(kit.Family)}))
				if err == nil {
					_ = resp.Body.Close()
				}
			}()
			m.WantHolders(t, kit.Members)
			end.tell(&kit.Raw{Cmd: w.Cmd})
			m.WantNone(t, heldUp)
			wantEnded(t, w.Server, end.code)
			rest, err := io.ReadAll(unread.Body)
			if err == nil {
				t.Errorf("all %d bytes were taken: nothing is shown", len(rest))
			}
		})
	}
}

// request is one call of the stateless protocol.
func (w *webServer) request(args kit.Args) *http.Request {
	w.T.Helper()
	line, err := json.Marshal(kit.Args{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": kit.Args{
		"name": "execute_process", "arguments": args, "_meta": kit.Args{
			"io.modelcontextprotocol/protocolVersion": stateless, "io.modelcontextprotocol/clientInfo": kit.Args{"name": "raw", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": kit.Args{},
		},
	}})
	if err != nil {
		w.T.Fatal(err)
	}
	r, err := http.NewRequestWithContext(w.T.Context(), http.MethodPost, w.url, bytes.NewReader(line))
	if err != nil {
		w.T.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": stateless, "Mcp-Method": "tools/call", "Mcp-Name": "execute_process",
	} {
		r.Header.Set(name, value)
	}
	return r
}
