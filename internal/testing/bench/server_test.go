package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

// built are the binaries under measurement, built once.
var built = sync.OnceValues(func() (map[string]string, error) {
	dir, err := os.MkdirTemp("", "tipstaff-bench-")
	if err != nil {
		return nil, err
	}
	binDir = dir
	paths := map[string]string{}
	for name, pkg := range map[string]string{"tipstaff": "tipstaff/cmd/tipstaff", "floor": "tipstaff/internal/testing/bench/floor"} {
		paths[name] = filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-trimpath", "-o", paths[name], pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cannot build %s: %v\n%s", pkg, err, out)
		}
	}
	return paths, nil
})

// binDir holds the binaries once they are built.
var binDir string

// TestMain removes the binaries.
func TestMain(m *testing.M) {
	code := m.Run()
	if binDir != "" {
		_ = os.RemoveAll(binDir)
	}
	os.Exit(code)
}

// server is one of the two servers, running.
type server struct {
	cmd     *exec.Cmd
	session *mcp.ClientSession
}

// command returns the command line of a server, with a policy and a record as
// an operator would have them.
func command(tb testing.TB, name string, env ...string) *exec.Cmd {
	tb.Helper()
	paths, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(paths[name])
	if name == "tipstaff" {
		cmd.Args = append(cmd.Args, "serve")
	}
	cmd.Dir = tb.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "ALLOWED_COMMANDS=*", "TIPSTAFF_STATE_DIR=" + tb.TempDir()}, env...)
	return cmd
}

func start(tb testing.TB, name string, env ...string) *server {
	tb.Helper()
	s := &server{cmd: command(tb, name, env...)}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: s.cmd}, nil)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	s.session = session
	tb.Cleanup(func() {
		_ = session.Close()
		kit.WantTier(tb, s.cmd.Env)
	})
	return s
}

// call runs a program through the server and returns how long the answer took.
func (s *server) call(tb testing.TB, file string, args ...string) time.Duration {
	began := time.Now()
	res, err := s.session.CallTool(context.Background(), &mcp.CallToolParams{
		Name: "execute_process", Arguments: map[string]any{"file": file, "args": args},
	})
	took := time.Since(began)
	if err != nil || res.IsError || !strings.HasPrefix(res.Content[0].(*mcp.TextContent).Text, "exit_code: 0") {
		tb.Fatalf("%s: %v %+v", file, err, res)
	}
	return took
}

func (s *server) resident(tb testing.TB) (now, peak int64) {
	tb.Helper()
	return resident(tb, s.cmd.Process.Pid)
}

// resident returns the resident memory of a process in bytes, now and at its
// peak.
func resident(tb testing.TB, pid int) (now, peak int64) {
	tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Skip("memory is read from /proc: ", err)
	}
	field := func(name string) int64 {
		_, rest, _ := bytes.Cut(data, []byte(name+":"))
		n, _ := strconv.ParseInt(strings.Fields(string(rest))[0], 10, 64)
		return n << 10
	}
	return field("VmRSS"), field("VmHWM")
}
