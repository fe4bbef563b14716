//go:build unix

package kit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is a running tipstaff with a client of the protocol's own library. Its
// methods fail the test T. They may be called from several goroutines.
type Server struct {
	T         *testing.T
	Cmd       *exec.Cmd
	Session   *mcp.ClientSession
	Workspace string // the server's working directory
	State     string
	Stderr    *Buffer // nil until Connect, unless a test sets it to read it earlier
	// Client is the name of the client; "": e2e. Options and Version are of it; zero:
	// no options, the newest version.
	Client  string
	Options *mcp.ClientOptions
	Version string
}

// Farewell is how long a server may take to end after its client has left,
// before it is killed.
const Farewell = 20 * time.Second

// answerLimit is longer than any command of a test takes.
const answerLimit = 3 * time.Minute

// Connect starts the server's command and a client of it. Both end with the
// test.
func (s *Server) Connect() {
	s.T.Helper()
	if s.Stderr == nil {
		s.Stderr = &Buffer{}
	}
	s.Cmd.Stderr, s.Cmd.WaitDelay = s.Stderr, Farewell
	client := mcp.NewClient(&mcp.Implementation{Name: cmp.Or(s.Client, "e2e"), Version: "1"}, s.Options)
	session, err := client.Connect(s.T.Context(), &mcp.CommandTransport{Command: s.Cmd, TerminateDuration: Farewell}, &mcp.ClientSessionOptions{ProtocolVersion: s.Version})
	if err != nil {
		s.T.Fatalf("cannot connect: %v\n%s", err, s.Stderr)
	}
	s.Session = session
	s.T.Cleanup(func() {
		if err := session.Close(); errors.Is(err, exec.ErrWaitDelay) {
			s.T.Error("a process that has the server's standard error has outlived it")
		}
		if strings.Contains(s.Stderr.String(), "DATA RACE") {
			s.T.Errorf("the server raced:\n%s", s.Stderr)
		}
		WantTier(s.T, s.Cmd.Env)
	})
}

// On returns the server for a subtest.
func (s *Server) On(t *testing.T) *Server {
	other := *s
	other.T = t
	return &other
}

// Overlay returns the variables of base, replaced and extended by those of
// over.
func Overlay(base, over []string) []string {
	for _, kv := range over {
		name, _, _ := strings.Cut(kv, "=")
		kept := base[:0:0]
		for _, b := range base {
			if !strings.HasPrefix(b, name+"=") {
				kept = append(kept, b)
			}
		}
		base = append(kept, kv)
	}
	return base
}

// Args are the arguments of a call.
type Args map[string]any

// Call calls a tool and fails the test if the protocol fails.
func (s *Server) Call(tool string, a any) Reply {
	s.T.Helper()
	return s.CallWithin(s.T.Context(), tool, a)
}

// CallWithin is Call with a context. A call that is never answered ends the
// server, which then prints the stacks of its goroutines.
func (s *Server) CallWithin(ctx context.Context, tool string, a any) Reply {
	s.T.Helper()
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	res, err := s.Session.CallTool(limited, &mcp.CallToolParams{Name: tool, Arguments: a})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		_ = s.Cmd.Process.Signal(syscall.SIGQUIT)
		_ = s.Session.Close()
	}
	if err != nil {
		s.T.Fatalf("%s: %v\n%s", tool, err, s.Stderr)
	}
	r := Reply{T: s.T, IsError: res.IsError, Result: res}
	if len(res.Content) != 1 {
		s.T.Fatalf("%s gave %d contents", tool, len(res.Content))
	}
	content, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		s.T.Fatalf("%s gave no text, but a %T", tool, res.Content[0])
	}
	r.Text = content.Text
	return r
}

// Command runs a command line with the first of the two tools of family A.
func (s *Server) Command(line string, more ...Args) Reply {
	s.T.Helper()
	return s.Call("execute_command", merged(Args{"command": line}, more))
}

// Process runs a program with arguments, with the second.
func (s *Server) Process(file string, argv []string, more ...Args) Reply {
	s.T.Helper()
	return s.Call("execute_process", merged(Args{"file": file, "args": argv}, more))
}

func merged(a Args, more []Args) Args {
	for _, m := range more {
		maps.Copy(a, m)
	}
	return a
}

// NewSession opens a terminal session and returns its id.
func (s *Server) NewSession(more ...Args) string {
	s.T.Helper()
	b := s.Call("terminal_create_session", merged(Args{"taskId": "T-1", "agentId": "agent"}, more)).JSON()
	if !b.Success {
		s.T.Fatalf("no session: %+v", b)
	}
	return b.SessionID
}

// InSession runs a command in a session.
func (s *Server) InSession(id, command string, argv []string, more ...Args) Reply {
	s.T.Helper()
	return s.Call("terminal_execute_command", merged(Args{"sessionId": id, "command": command, "args": argv}, more))
}

// Records returns the server's trail, one object per line.
func (s *Server) Records() []map[string]any {
	s.T.Helper()
	files, _ := filepath.Glob(filepath.Join(s.State, "audit", "*", "*.jsonl"))
	var out []map[string]any
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			s.T.Fatal(err)
		}
		data = data[:bytes.LastIndexByte(data, '\n')+1] // the server may be writing the next line just now
		for line := range bytes.Lines(data) {
			var m map[string]any
			if err := json.Unmarshal(line, &m); err != nil {
				s.T.Fatalf("a record is not JSON: %v\n%s", err, line)
			}
			out = append(out, m)
		}
	}
	return out
}

// Buffer collects what a server writes to standard error. It may be read meanwhile.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write adds to what was collected.
func (l *Buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is what was written so far.
func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
