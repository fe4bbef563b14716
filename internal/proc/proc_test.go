//go:build unix

package proc

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// engines are shared by the tests: a process needs no more than one.
var oneEngine = sync.OnceValues(func() (*Engine, error) { return NewEngine(Options{}) })

func newEngine(t testing.TB) *Engine {
	t.Helper()
	e, err := oneEngine()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// started is a process with its output.
type started struct {
	*Process
	t   *testing.T
	out *os.File
}

// launch starts testcmd with its arguments in a fresh directory.
func launch(t *testing.T, argv ...string) *started {
	t.Helper()
	return launchIn(t, t.TempDir(), argv...)
}

func launchIn(t *testing.T, dir string, argv ...string) *started {
	t.Helper()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := newEngine(t).Start(Launch{
		Path: testcmdtest.Build(t), Argv: append([]string{"testcmd"}, argv...), Env: []string{"A=b"},
		Dir: d.Fd(), Stdout: w,
	})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End(0); _ = r.Close() })
	return &started{Process: p, t: t, out: r}
}

// says waits for the first output.
func (s *started) says() string {
	s.t.Helper()
	buf := make([]byte, 1<<16)
	n, err := s.out.Read(buf)
	if err != nil {
		s.t.Fatalf("it said nothing (%v) and ended as %+v", err, s.Status())
	}
	return string(buf[:n])
}

func (s *started) all() string {
	s.t.Helper()
	data, err := io.ReadAll(s.out)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func TestExitCodesAndSignalsAreExact(t *testing.T) {
	for code := range 256 {
		if code > 8 && code < 120 || code > 130 && code < 250 {
			continue
		}
		st := launch(t, "exit", itoa(code)).Status()
		if st.ExitCode != code || st.Signal != 0 || st.SignalName != "" || st.Err != nil {
			t.Errorf("exit %d became %+v", code, st)
		}
	}
	for name, number := range map[string]int{"HUP": 1, "INT": 2, "KILL": 9, "PIPE": 13, "TERM": 15} {
		st := launch(t, "signal", name).Status()
		if st.Signal != number || st.SignalName != "SIG"+name || st.ExitCode != 0 {
			t.Errorf("SIG%s became %+v", name, st)
		}
	}
}

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func TestTheProgramGetsExactlyWhatTheLaunchSays(t *testing.T) {
	var argv []string
	if err := json.Unmarshal([]byte(launch(t, "argv", "", "a b", "$x", "\n").all()), &argv); err != nil || !slices.Equal(argv[len(argv)-4:], []string{"", "a b", "$x", "\n"}) {
		t.Errorf("arguments %q, %v", argv, err)
	}
	var env []string
	if err := json.Unmarshal([]byte(launch(t, "env").all()), &env); err != nil || !slices.Equal(env, []string{"A=b"}) {
		t.Errorf("environment %q, %v", env, err)
	}
	if s := launch(t, "cat"); s.all() != "" || s.Status().ExitCode != 0 {
		t.Error("without a standard input it does not read /dev/null")
	}
}

func TestTheProgramStartsInTheOpenDirectoryWhateverItsNameLeadsTo(t *testing.T) {
	base := t.TempDir()
	right, wrong := filepath.Join(base, "right"), filepath.Join(base, "wrong")
	for _, d := range []string{right, wrong} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d, err := os.Open(right)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	moved := filepath.Join(base, "moved")
	if err := errors.Join(os.Rename(right, moved), os.Rename(wrong, right)); err != nil {
		t.Fatal(err)
	}
	r, w, _ := os.Pipe()
	defer r.Close()
	p, err := newEngine(t).Start(Launch{Path: testcmdtest.Build(t), Argv: []string{"testcmd", "cwd"}, Dir: d.Fd(), Stdout: w})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(r)
	p.Status()
	if !strings.Contains(string(out), "/moved\"") {
		t.Errorf("it started in %s", out)
	}
}

func TestAProgramThatCannotStartLeavesAnErrno(t *testing.T) {
	d, _ := os.Open(t.TempDir())
	defer d.Close()
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want syscall.Errno
	}{{"/no/such/program", syscall.ENOENT}, {script, syscall.ENOENT}, {text, syscall.ENOEXEC}, {"/", syscall.EACCES}} {
		p, err := newEngine(t).Start(Launch{Path: c.path, Argv: []string{"x"}, Dir: d.Fd()})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
		if p != nil {
			p.End(0)
		}
	}
}

func TestEndIsPoliteFirst(t *testing.T) {
	s := launch(t, "term-print")
	s.says()
	s.End(20 * time.Second)
	if out := s.all(); out != "terminated\n" {
		t.Errorf("it said %q", out)
	}
	if st := s.Status(); st.ExitCode != 7 {
		t.Errorf("it ended as %+v", st)
	}
}

func TestEndUsesForceWhenGraceIsOver(t *testing.T) {
	s := launch(t, "ignore")
	s.says()
	began := time.Now()
	s.End(100 * time.Millisecond)
	if took := time.Since(began); took < 100*time.Millisecond || took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if st := s.Status(); st.SignalName != "SIGKILL" {
		t.Errorf("it ended as %+v", st)
	}
}

func TestEndTakesTheDescendantsOfTheGroup(t *testing.T) {
	s := launch(t, "tree", "5")
	var pids []string
	for len(pids) < 5 {
		pids = append(pids, strings.Fields(s.says())...)
	}
	s.End(0)
	// The pipe ends when all processes that held it are gone.
	_ = s.out.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(s.out); err != nil {
		t.Errorf("after the end of the tree, a process still holds its output: %v", err)
	}
}

func TestEndAfterTheEndTakesWhatWasLeftBehind(t *testing.T) {
	d, _ := os.Open(t.TempDir())
	defer d.Close()
	r, w, _ := os.Pipe()
	defer r.Close()
	p, err := newEngine(t).Start(Launch{Path: "/bin/sh", Argv: []string{"sh", "-c", "sleep 60 & echo $!"}, Dir: d.Fd(), Env: []string{"PATH=/bin:/usr/bin"}, Stdout: w})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if st := p.Status(); st.ExitCode != 0 {
		t.Fatalf("%+v", st)
	}
	p.End(time.Second)
	_ = r.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(r); err != nil {
		t.Errorf("the leftover still holds the output: %v", err)
	}
}

func TestOnlyTheStandardStreamsAreOpen(t *testing.T) {
	extra, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0) // without close-on-exec, as a careless parent leaves it
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(extra)
	Seal()
	var fds map[string]string
	if err := json.Unmarshal([]byte(launch(t, "fds").all()), &fds); err != nil {
		t.Fatal(err)
	}
	for fd := range fds {
		if fd != "0" && fd != "1" && fd != "2" {
			t.Errorf("descriptor %s is open: %s", fd, fds[fd])
		}
	}
}
