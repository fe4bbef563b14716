//go:build linux && (amd64 || arm64)

package run

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/output/recording"
	"tipstaff/internal/redact"
)

// atTerminal is a command with a terminal of the usual size.
func atTerminal(words ...string) tipstaff.Request {
	return tipstaff.Request{Argv: words, Terminal: &tipstaff.TerminalSize{Rows: 24, Columns: 80}}
}

func inBackground(req tipstaff.Request) tipstaff.Request {
	req.Background = true
	return req
}

func TestACommandWithATerminalHasItForEverything(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		says, script, want string
	}{
		{"its streams are a terminal", "test -t 0 && test -t 1 && test -t 2 && echo yes", "yes\r\n"},
		{"the size is what was asked for", "stty size", "24 80\r\n"},
		{"it is the controlling terminal", "echo there > /dev/tty", "there\r\n"},
		{"the streams can be opened again", "echo out > /dev/stdout; echo err > /dev/stderr", "out\r\nerr\r\n"},
		{"programs know what it is", "echo $TERM", "xterm-256color\r\n"},
		{"both outputs are one stream", "echo out; echo err >&2", "out\r\nerr\r\n"},
		{"a backspace takes a whole character", "stty -a | grep -o '[-]*iutf8'", "iutf8\r\n"},
		{"it has a name", "tty | sed 's/[0-9]*$/N/'", "/dev/pts/N\r\n"},
	} {
		r := b.run(atTerminal("sh", "-c", c.script))
		if r.ExitCode != 0 || output(r.Stdout) != c.want || r.Stderr.Total() != 0 {
			t.Errorf("%s: %d %q, %q", c.says, r.ExitCode, output(r.Stdout), output(r.Stderr))
		}
	}
	if r := b.run(argv("sh", "-c", "test -t 0 || test -t 1 || echo none; cat /dev/tty")); output(r.Stdout) != "none\n" || r.ExitCode == 0 {
		t.Errorf("without one: %d %q", r.ExitCode, output(r.Stdout))
	}
	if r := b.run(tipstaff.Request{Argv: []string{"stty", "size"}, Terminal: &tipstaff.TerminalSize{}}); output(r.Stdout) != "24 80\r\n" {
		t.Errorf("without a size: %q", output(r.Stdout))
	}
}

func TestInputIsTypedAtATerminalAndItsEndAsWell(t *testing.T) {
	b := newBench(t)
	req := atTerminal("cat")
	req.Stdin = []byte("one\ntwo\n")
	if r := b.run(req); r.ExitCode != 0 || output(r.Stdout) != "one\r\ntwo\r\none\r\ntwo\r\n" && output(r.Stdout) != "one\r\none\r\ntwo\r\ntwo\r\n" && output(r.Stdout) != "one\r\ntwo\r\none\r\n\r\ntwo\r\n" {
		t.Errorf("%d %q", r.ExitCode, output(r.Stdout))
	}
	req = atTerminal("python3", "-q")
	req.Stdin = []byte("print(6*7)\n")
	if r := b.run(req); r.ExitCode != 0 || !strings.Contains(output(r.Stdout), "42\r\n") {
		t.Errorf("%d %q", r.ExitCode, output(r.Stdout))
	}
	c := b.steer(inBackground(atTerminal("sh", "-c", "cat; echo again; cat; echo end")))
	c.waits()
	c.types("half a line")
	for _, next := range []string{"again", "end"} {
		if err := c.CloseInput(); err != nil {
			t.Error(err)
		}
		c.says(next)
		if next == "again" {
			c.waits()
		}
	}
	if r := c.ended(); r.ExitCode != 0 {
		t.Errorf("%d %q", r.ExitCode, output(r.Stdout))
	}
}

func TestAREPLIsTalkedTo(t *testing.T) {
	c := newBench(t).steer(inBackground(atTerminal("python3", "-q")))
	c.says(">>> ")
	c.waits()
	c.types("x = 6\r")
	c.waits()
	c.types("print(x * 7)\r")
	c.says("42\r\n")
	// Python looks for signals between its instructions: one that comes just before the
	// system call of a long sleep waits for that sleep's end.
	c.types("while True: print('a round'); __import__('time').sleep(0.01)\r\r")
	c.says("a round\r\n") // it runs, and reads nothing any more
	c.types("\x03")       // ctrl-c
	c.says("KeyboardInterrupt")
	c.types("print('goes', 'on')\r") // else it would die by the signal in the end
	c.says("goes on")
	c.waits()
	c.types("\x04") // ctrl-d
	if r := c.ended(); r.ExitCode != 0 || r.Cause != tipstaff.Exited {
		t.Errorf("%v %d", r.Cause, r.ExitCode)
	}
}

func TestProgramsHearThatTheTerminalHasAnotherSize(t *testing.T) {
	c := newBench(t).steer(inBackground(atTerminal("bash", "-c", "trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done")))
	c.says("ready")
	if err := c.Resize(tipstaff.TerminalSize{Rows: 50, Columns: 132}); err != nil {
		t.Error(err)
	}
	c.says("50 132")
	if err := c.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	c.ended()
}

func TestEditorsPagersAndScreensWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	t.Run("vi", func(t *testing.T) {
		c := b.steer(inBackground(atTerminal("vi", "-u", "NONE", "note")))
		c.waits()
		c.types("ihello\x1b:wq\r")
		if r := c.ended(); r.ExitCode != 0 {
			t.Errorf("%d %q", r.ExitCode, output(r.Stdout))
		}
		if r := b.run(argv("cat", "note")); output(r.Stdout) != "hello\n" {
			t.Errorf("%q", output(r.Stdout))
		}
	})
	t.Run("less", func(t *testing.T) {
		c := b.steer(inBackground(atTerminal("sh", "-c", "seq 1000 | less")))
		c.says("23")
		c.waits()
		c.types("G")
		c.says("1000")
		c.types("q")
		if r := c.ended(); r.ExitCode != 0 {
			t.Errorf("%d", r.ExitCode)
		}
	})
	t.Run("top", func(t *testing.T) {
		c := b.steer(inBackground(atTerminal("top", "-d", "1")))
		c.says("PID")
		if c.WaitsForInput() {
			t.Error("it is said to wait, though it draws its screen every second")
		}
		c.types("q")
		if r := c.ended(); r.ExitCode != 0 {
			t.Errorf("%d", r.ExitCode)
		}
	})
}

func TestAPasswordPromptIsToldFromWork(t *testing.T) {
	t.Parallel()
	c := newBench(t).steer(inBackground(atTerminal("python3", "-c", "import getpass; print(len(getpass.getpass()))")))
	c.says("Password: ")
	c.waits()
	c.types("secret\r")
	c.says("6")
	if r := c.ended(); strings.Contains(output(r.Stdout), "secret") {
		t.Errorf("it was echoed: %q", output(r.Stdout))
	}
	late := atTerminal("python3", "-c", "import getpass; getpass.getpass()")
	late.Timeout = time.Second
	r := newBench(t).outlived(late, func(r tipstaff.Result) bool { return r.WaitedForInput })
	if said := strings.Join(r.Notes, " "); !r.WaitedForInput || !strings.Contains(said, "It waits for input at its terminal") {
		t.Errorf("%v %q", r.Cause, said)
	}
}

// TestT3NobodyHoldsUpACommandByItsTerminal: who has it open, in whatever session,
// ignoring whatever signal.
func TestT3NobodyHoldsUpACommandByItsTerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, script := range []string{
		"testcmd ignore & sleep 0.2",
		"setsid testcmd ignore & sleep 0.2",
		"testcmd hold",
		"testcmd daemon keep",
		"sleep 30 & echo $!",
		"(trap '' HUP; exec cat) & sleep 0.1",
		"stty raw -echo; testcmd hold",
		"printf '\\023'; testcmd hold", // XOFF is only input
	} {
		for _, req := range []tipstaff.Request{atTerminal("sh", "-c", script), inBackground(atTerminal("sh", "-c", script))} {
			if r := b.promptly(1500*time.Millisecond, req); r.Cause != tipstaff.Exited {
				t.Errorf("%q ended as %v", script, r.Cause)
			}
		}
	}
	ignoring := atTerminal("testcmd", "ignore")
	ignoring.Timeout = 300 * time.Millisecond
	if r := b.promptly(1500*time.Millisecond, ignoring); r.Cause != tipstaff.TimedOut {
		t.Errorf("%v", r.Cause)
	}
	full := inBackground(atTerminal("sh", "-c", "stty raw; echo ready; exec sleep 60"))
	c := b.steer(full)
	c.says("ready")
	go func() { _, _ = c.Input(t.Context(), make([]byte, 1<<20)) }() // fills the terminal
	if err := c.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	c.ended()
}

func TestNothingOfTheOutputIsLostAtTheEnd(t *testing.T) {
	b := newBench(t)
	for range 30 {
		r := b.run(atTerminal("sh", "-c", "sleep 5 & exec seq 1 5000"))
		if all := output(r.Stdout); !strings.HasSuffix(all, "5000\r\n") {
			t.Fatalf("%q", all[max(0, len(all)-40):])
		}
	}
}

func TestTheRecordingOfATerminalHoldsItsSizesAndPlays(t *testing.T) {
	b := newBench(t)
	b.local.Recorder = &recording.Recorder{Dir: t.TempDir(), Redactor: redact.New(nil)}
	req := inBackground(atTerminal("bash", "-c", "stty size; trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"))
	req.ID = "cmd_1"
	c := b.steer(req)
	c.says("ready")
	if err := c.Resize(tipstaff.TerminalSize{Rows: 50, Columns: 132}); err != nil {
		t.Error(err)
	}
	r := c.ended()
	path := filepath.Join(b.local.Recorder.Dir, r.Recording.File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"term":{"cols":80,"rows":24,"type":"xterm-256color"}`, `"r","132x50"`, `"o","50 132`} {
		if !strings.Contains(string(data), part) {
			t.Errorf("without %s: %s", part, data)
		}
	}
	var out strings.Builder
	if err := (recording.Player{Out: &out, Speed: 1000}).Play(t.Context(), path, data); err != nil || !strings.Contains(out.String(), "24 80\x1b[K\r\nready\x1b[K\r\n50 132") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
