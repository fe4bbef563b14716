package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestPrograms(t *testing.T) {
	flooded := func(n int) string { return strings.Repeat(floodLine, n/len(floodLine)+1)[:n] }
	for _, test := range []struct {
		says           string
		args           []string
		stdin          string
		stdout, stderr string
		end            string
	}{
		{says: "exit ends with the code that was asked", args: []string{"exit", "42"}, end: "exit status 42"},
		{says: "exit wants a code", args: []string{"exit"}, stderr: "testcmd: a number is missing\n", end: "exit status 98"},
		{says: "no code is above 255", args: []string{"exit", "256"}, stderr: "testcmd: \"256\" is no number from 0 to 255\n", end: "exit status 98"},
		{says: "an unknown program is refused", args: []string{"dance"}, stderr: "testcmd: there is no program \"dance\"\n", end: "exit status 98"},
		{says: "a sleep ends", args: []string{"sleep", "1"}},
		{says: "a signal is a true death, though Go handles it", args: []string{"signal", "SEGV"}, end: "signal: segmentation fault"},
		{says: "the prefix SIG may be written", args: []string{"signal", "SIGKILL"}, end: "signal: killed"},
		{says: "SIGTERM", args: []string{"signal", "TERM"}, end: "signal: terminated"},
		{says: "SIGQUIT leaves no core and prints no stacks", args: []string{"signal", "QUIT"}, end: "signal: quit"},
		{says: "SIGPIPE", args: []string{"signal", "PIPE"}, end: "signal: broken pipe"},
		{says: "cat copies", args: []string{"cat"}, stdin: "a\x00b\xffc", stdout: "a\x00b\xffc"},
		{says: "slowread does not read", args: []string{"slowread", "1"}, stdin: strings.Repeat("x", 1<<20), stdout: "done\n"},
		{says: "partial ends without a newline", args: []string{"partial", "1"}, stdout: "half a line"},
		{says: "a flood has the size that was asked", args: []string{"flood", "200001"}, stdout: flooded(200001)},
		{says: "a flood of errors", args: []string{"flood", "100", "stderr"}, stderr: flooded(100)},
		{says: "a flood of both", args: []string{"flood", "70000", "both"}, stdout: flooded(70000), stderr: flooded(70000)},
		{says: "a flood goes nowhere else", args: []string{"flood", "1", "stdin"}, stderr: "testcmd: cannot flood \"stdin\", only stdout, stderr and both\n", end: "exit status 98"},
		{says: "closefds closes", args: []string{"closefds", "1"}},
	} {
		t.Run(test.says, func(t *testing.T) {
			stdout, stderr, err := run(t, test.stdin, test.args...)
			end := ""
			if err != nil {
				end = err.Error()
			}
			if stdout != test.stdout || stderr != test.stderr || end != test.end {
				t.Errorf("got %.200q, %.200q, %q\nwant %.200q, %.200q, %q", stdout, stderr, end, test.stdout, test.stderr, test.end)
			}
		})
	}
}

func TestArgvIsWhole(t *testing.T) {
	odd := []string{"argv", "", "a b", "<&>", "*", "é\n"}
	stdout, _, _ := run(t, "", odd...)
	var got []string
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if want := append([]string{testcmdtest.Build(t)}, odd...); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnvIsInOrder(t *testing.T) {
	c := exec.Command(testcmdtest.Build(t), "env")
	c.Env = []string{"B=2", "A=1\n", "EMPTY="}
	out, err := c.Output()
	if want := "[\"B=2\",\"A=1\\n\",\"EMPTY=\"]\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

func TestDirectoryIsTheKernels(t *testing.T) {
	c := exec.Command(testcmdtest.Build(t), "cwd")
	c.Dir = t.TempDir()
	c.Env = []string{"PWD=/"}
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(c.Dir, &st); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("{\"dev\":%d,\"ino\":%d,\"path\":%q}\n", st.Dev, st.Ino, c.Dir); string(out) != want {
		t.Errorf("got %s, want %s", out, want)
	}
}

func TestDescriptorsShowALeak(t *testing.T) {
	leak, err := os.Create(filepath.Join(t.TempDir(), "leak"))
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	c := exec.Command(testcmdtest.Build(t), "fds")
	c.ExtraFiles = []*os.File{nil, leak} // 3 and 4
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got["4"] != leak.Name() || got["0"] != os.DevNull || !strings.HasPrefix(got["1"], "pipe:") {
		t.Errorf("got %v, want the leak as 4", got)
	}
	if runtimes, ok := got["3"]; ok {
		t.Errorf("3 is %s, want it closed, or left out as the runtime's own", runtimes)
	}
}

func TestSignalsShowWhatIsIgnored(t *testing.T) {
	c := exec.Command("sh", "-c", `trap "" HUP; exec "$0" sigmask`, testcmdtest.Build(t))
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := signalBits(t, string(out), "SigIgn"); got != 1 {
		t.Errorf("ignored are %x, want SIGHUP alone, in\n%s", got, out)
	}
}

func TestTextThatIsHardToShow(t *testing.T) {
	invalid, _, _ := run(t, "", "invalid", "3")
	if !strings.HasPrefix(invalid, "aaa\x80|\xc3|") || !strings.HasSuffix(invalid, "é€😀\n") || utf8.ValidString(invalid) {
		t.Errorf("invalid: %q", invalid)
	}
	control, _, _ := run(t, "", "control")
	if !strings.HasPrefix(control, "<\x00>\n<\x01>\n") || !strings.Contains(control, "<\u202e>") || !utf8.ValidString(control) {
		t.Errorf("control: %q", control)
	}
}

func TestTermPrintsAndExits(t *testing.T) {
	c, lines := start(t, "term-print")
	expect(t, lines, "ready")
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	expect(t, lines, "terminated")
	if err := c.Wait(); err == nil || err.Error() != "exit status 7" {
		t.Errorf("got %v, want exit status 7", err)
	}
}

func TestIgnoreIgnores(t *testing.T) {
	c, lines := start(t, "ignore")
	expect(t, lines, "ready")
	ignoresEnding(t, c.Process.Pid)
}

func TestTreeIsAChain(t *testing.T) {
	c, lines := start(t, "tree", "3")
	parent := 0
	for i := range 4 {
		pid := readPid(t, lines)
		if i == 0 && pid != c.Process.Pid || i > 0 && stat(t, pid).parent != parent {
			t.Errorf("the process %d, at depth %d, is no child of %d", pid, i, parent)
		}
		parent = pid
	}
}

func TestHoldLeavesASleeperOnTheOutput(t *testing.T) {
	c, lines := start(t, "hold")
	pid := readPid(t, lines)
	if _, err := c.Process.Wait(); err != nil { // not c.Wait, which would wait for the pipe
		t.Fatal(err)
	}
	if s := stat(t, pid); s.session != pid {
		t.Errorf("the sleeper is in session %d, want one of its own", s.session)
	}
	if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/1", pid)); err != nil || !strings.HasPrefix(target, "pipe:") {
		t.Errorf("the sleeper holds %q (%v), want the pipe", target, err)
	}
}

func TestDaemonIsNobodysChild(t *testing.T) {
	for _, test := range []struct {
		says, output string
		args         []string
	}{
		{"without the output", os.DevNull, []string{"daemon"}},
		{"with the output", "pipe:", []string{"daemon", "keep"}},
	} {
		t.Run(test.says, func(t *testing.T) {
			c, lines := start(t, test.args...)
			pid := readPid(t, lines)
			if _, err := c.Process.Wait(); err != nil {
				t.Fatal(err)
			}
			if s := stat(t, pid); s.session != pid || s.parent == c.Process.Pid {
				t.Errorf("the daemon %d has the parent %d and the session %d", pid, s.parent, s.session)
			}
			if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/1", pid)); err != nil || !strings.HasPrefix(target, test.output) {
				t.Errorf("the daemon writes to %q (%v), want %s", target, err, test.output)
			}
			ignoresEnding(t, pid)
		})
	}
}

func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(testcmdtest.Build(t), args...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
	err = c.Run()
	if errors.Is(err, syscall.EPIPE) { // the program did not read its input
		err = nil
	}
	return out.String(), errs.String(), err
}

// start runs a program that stays, and ends it with the test.
func start(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	c := exec.Command(testcmdtest.Build(t), args...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c, bufio.NewReader(out)
}

func expect(t *testing.T, lines *bufio.Reader, want string) {
	t.Helper()
	if got, err := lines.ReadString('\n'); err != nil || got != want+"\n" {
		t.Fatalf("read %q, %v, want %q", got, err, want)
	}
}

// readPid reads the pid of a process, and ends that with the test.
func readPid(t *testing.T, lines *bufio.Reader) int {
	t.Helper()
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
	if err != nil || pid < 2 {
		t.Fatalf("read %q, want a pid", line)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

type facts struct{ parent, session int }

func stat(t *testing.T, pid int) (f facts) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name may hold blanks
	var state string
	var group int
	if _, err := fmt.Fscan(strings.NewReader(after), &state, &f.parent, &group, &f.session); err != nil {
		t.Fatal(err)
	}
	return f
}

func ignoresEnding(t *testing.T, pid int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	ignored := signalBits(t, string(status), "SigIgn")
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1} {
		if ignored&(1<<(s-1)) == 0 {
			t.Errorf("%v is not ignored: %x", s, ignored)
		}
	}
}

func signalBits(t *testing.T, status, name string) uint64 {
	t.Helper()
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, name+":\t"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return bits
		}
	}
	t.Fatalf("no line %s in\n%s", name, status)
	return 0
}
