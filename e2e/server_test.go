//go:build unix

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"go.yaml.in/yaml/v4"

	"tipstaff/internal/testcmd/testcmdtest"
)

// binary is the program under test, built once, with the race detector where
// the test itself has it: a race in the server is a failure of the test.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tipstaff-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "tipstaff")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "tipstaff/cmd/tipstaff")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build tipstaff: %v\n%s", err, out)
	}
	return path, nil
})

func tipstaffPath(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain(m *testing.M) {
	os.Exit(testcmdtest.Contain(m, func() error {
		path, err := binary()
		if err != nil {
			return err
		}
		return os.RemoveAll(filepath.Dir(path))
	}))
}

// server is a running tipstaff with a client of the protocol's own library.
type server struct {
	t         *testing.T
	cmd       *exec.Cmd
	session   *mcp.ClientSession
	workspace string // the server's working directory
	state     string
	stderr    *lockedBuffer
}

// setup is what a test changes of the usual server.
type setup struct {
	env       []string          // replaces and adds
	files     map[string]string // below the workspace
	allowlist string            // content of the terminal family's file; "" is ["testcmd", …] below
}

// start runs a server that allows the programs of the tests: "testcmd" and a
// few of the machine's.
func start(t *testing.T, s setup) *server {
	t.Helper()
	srv := prepare(t, s)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: srv.cmd, TerminateDuration: 5 * time.Second}, nil)
	if err != nil {
		t.Fatalf("cannot connect: %v\n%s", err, srv.stderr)
	}
	srv.session = session
	t.Cleanup(func() {
		_ = session.Close()
		if strings.Contains(srv.stderr.String(), "DATA RACE") {
			t.Errorf("the server raced:\n%s", srv.stderr)
		}
	})
	return srv
}

// prepare makes a server's command without starting it.
func prepare(t *testing.T, s setup) *server {
	t.Helper()
	srv := &server{t: t, workspace: canonical(t, t.TempDir()), state: t.TempDir(), stderr: &lockedBuffer{}}
	bin := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(testcmdtest.Build(t), filepath.Join(bin, "testcmd")); err != nil {
		t.Fatal(err)
	}
	for name, content := range s.files {
		path := filepath.Join(srv.workspace, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if s.allowlist == "" {
		s.allowlist = `["testcmd", "echo", "cat", "ls", "sh", "sleep", "git", "npm"]`
	}
	list := filepath.Join(t.TempDir(), "tools-allow.json")
	if err := os.WriteFile(list, []byte(s.allowlist), 0o600); err != nil {
		t.Fatal(err)
	}
	srv.cmd = exec.Command(tipstaffPath(t), "serve")
	srv.cmd.Dir = srv.workspace
	srv.cmd.Stderr = srv.stderr
	srv.cmd.Env = overlay([]string{
		"PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "LANG=C.UTF-8",
		"ALLOWED_COMMANDS=testcmd,echo,cat,ls,sh,sleep,true,false,printf,pwd",
		"ENABLE_TERMINAL_ACCESS=true", "TERMINAL_ALLOWLIST_PATH=" + list, "TIPSTAFF_STATE_DIR=" + srv.state,
	}, s.env)
	return srv
}

func overlay(base, over []string) []string {
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

func canonical(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// args are the arguments of a call.
type args map[string]any

// reply is the answer of a tool.
type reply struct {
	t       *testing.T
	Text    string
	IsError bool
	result  *mcp.CallToolResult
}

// call calls a tool and fails the test when the protocol does.
func (s *server) call(tool string, a any) reply {
	s.t.Helper()
	return s.callWithin(s.t.Context(), tool, a)
}

func (s *server) callWithin(ctx context.Context, tool string, a any) reply {
	s.t.Helper()
	res, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", tool, err, s.stderr)
	}
	r := reply{t: s.t, IsError: res.IsError, result: res}
	if len(res.Content) != 1 {
		s.t.Fatalf("%s gave %d contents", tool, len(res.Content))
	}
	r.Text = res.Content[0].(*mcp.TextContent).Text
	return r
}

// command and process are short for the two tools of family A.
func (s *server) command(line string, more ...args) reply {
	s.t.Helper()
	return s.call("execute_command", merged(args{"command": line}, more))
}

func (s *server) process(file string, argv []string, more ...args) reply {
	s.t.Helper()
	return s.call("execute_process", merged(args{"file": file, "args": argv}, more))
}

func merged(a args, more []args) args {
	for _, m := range more {
		maps.Copy(a, m)
	}
	return a
}

// yamlBody is what family A answers.
type yamlBody struct {
	ExitCode  int    `yaml:"exit_code"`
	Stdout    string `yaml:"stdout"`
	Stderr    string `yaml:"stderr"`
	Signal    string `yaml:"signal"`
	Truncated bool   `yaml:"truncated"`
	Error     string `yaml:"error"`
	Hint      string `yaml:"hint"`
}

func (r reply) yaml() yamlBody {
	r.t.Helper()
	var b yamlBody
	if err := yaml.Unmarshal([]byte(r.Text), &b); err != nil {
		r.t.Fatalf("not YAML: %v\n%s", err, r.Text)
	}
	return b
}

// jsonBody is what family B answers.
type jsonBody struct {
	Success            bool           `json:"success"`
	Error              string         `json:"error"`
	Message            string         `json:"message"`
	Hint               string         `json:"hint"`
	Details            map[string]any `json:"details"`
	SessionID          string         `json:"sessionId"`
	WorkingDirectory   string         `json:"workingDirectory"`
	CreatedAt          string         `json:"createdAt"`
	DroppedEnvironment []string       `json:"droppedEnvironment"`
	ExitCode           int            `json:"exitCode"`
	Stdout             string         `json:"stdout"`
	Stderr             string         `json:"stderr"`
	Duration           float64        `json:"duration"`
	Truncated          bool           `json:"truncated"`
	Signal             string         `json:"signal"`
	Session            struct {
		ID, TaskID, AgentID, WorkingDirectory, State, CreatedAt, LastCommandAt string
		CommandCount                                                           int
	} `json:"session"`
}

// json reads the answer and checks that it says the same as text and as structure.
func (r reply) json() jsonBody {
	r.t.Helper()
	var b jsonBody
	if err := json.Unmarshal([]byte(r.Text), &b); err != nil {
		r.t.Fatalf("not JSON: %v\n%s", err, r.Text)
	}
	var fromText any
	_ = json.Unmarshal([]byte(r.Text), &fromText)
	if structured, _ := json.Marshal(r.result.StructuredContent); !sameJSON(structured, fromText) {
		r.t.Errorf("the structured content differs from the text:\n%s\n%s", structured, r.Text)
	}
	return b
}

func sameJSON(structured []byte, fromText any) bool {
	again, err := json.Marshal(fromText)
	return err == nil && bytes.Equal(structured, again)
}

// ran fails the test unless a command ran to its end with exit code 0.
func (r reply) ran() yamlBody {
	r.t.Helper()
	b := r.yaml()
	if r.IsError || b.ExitCode != 0 {
		r.t.Fatalf("it did not run well:\n%s", r.Text)
	}
	return b
}

// refused fails the test unless the call was refused with a text that says
// everything of want.
func (r reply) refused(want ...string) {
	r.t.Helper()
	if !r.IsError {
		r.t.Fatalf("it was not refused:\n%s", r.Text)
	}
	for _, w := range want {
		if !strings.Contains(r.Text, w) {
			r.t.Errorf("the refusal does not say %q:\n%s", w, r.Text)
		}
	}
}

// code fails the test unless the answer is an error of family B with the code.
func (r reply) code(code string, want ...string) jsonBody {
	r.t.Helper()
	b := r.json()
	if !r.IsError || b.Success || b.Error != code || b.Message == "" {
		r.t.Fatalf("want the error %s:\n%s", code, r.Text)
	}
	for _, w := range want {
		if !strings.Contains(r.Text, w) {
			r.t.Errorf("the error does not say %q:\n%s", w, r.Text)
		}
	}
	return b
}

// newSession opens a terminal session and returns its id.
func (s *server) newSession(more ...args) string {
	s.t.Helper()
	b := s.call("terminal_create_session", merged(args{"taskId": "T-1", "agentId": "agent"}, more)).json()
	if !b.Success {
		s.t.Fatalf("no session: %+v", b)
	}
	return b.SessionID
}

// inSession runs a command in a session.
func (s *server) inSession(id, command string, argv []string, more ...args) reply {
	s.t.Helper()
	return s.call("terminal_execute_command", merged(args{"sessionId": id, "command": command, "args": argv}, more))
}

// records gives the server's trail, one object a line.
func (s *server) records() []map[string]any {
	s.t.Helper()
	files, _ := filepath.Glob(filepath.Join(s.state, "audit", "*", "*.jsonl"))
	var out []map[string]any
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var m map[string]any
			if err := json.Unmarshal(line, &m); err != nil {
				s.t.Fatalf("a record is not JSON: %v\n%s", err, line)
			}
			out = append(out, m)
		}
	}
	return out
}

// gone waits until a process no longer exists (a zombie does not count as
// existing), at most for the time given.
func gone(pid int, within time.Duration) bool {
	for limit := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		if syscall.Kill(pid, 0) != nil || zombie(pid) {
			return true
		}
		if time.Now().After(limit) {
			return false
		}
	}
}

func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return strings.HasPrefix(after, "Z")
}

// lockedBuffer collects what the server writes to standard error.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
