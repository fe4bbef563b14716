//go:build linux

package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/proc"
)

// atTerminal is a confined command that has a terminal.
type atTerminal struct {
	*running
	t    *testing.T
	near *proc.Terminal
	mu   sync.Mutex
	text bytes.Buffer
	over chan struct{}
}

// terminal starts a shell script at a terminal, confined, in a session.
func (b *box) terminal(session, script string) *atTerminal {
	b.t.Helper()
	r := &running{}
	confined, err := b.Confine(Command{Session: tipstaff.SessionID(session), Dir: b.ws, Env: []string{"PATH=/usr/bin:/bin", "TERM=xterm-256color"}})
	if err != nil {
		b.t.Fatal(err)
	}
	r.confined = confined
	return b.launchAt(r, script)
}

// unconfinedTerminal is the same without a sandbox.
func (b *box) unconfinedTerminal(script string) *atTerminal {
	b.t.Helper()
	return b.launchAt(&running{confined: &Confined{Env: []string{"PATH=/usr/bin:/bin", "TERM=xterm-256color"}}}, script)
}

func (b *box) launchAt(r *running, script string) *atTerminal {
	b.t.Helper()
	l := proc.Launch{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Terminal: &tipstaff.TerminalSize{Rows: 30, Columns: 100}}
	engine, err := oneEngine()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := r.launchProgram(engine, b.ws, l); err != nil {
		b.t.Fatal(err)
	}
	c := &atTerminal{running: r, t: b.t, near: r.process.Terminal(), over: make(chan struct{})}
	go func() {
		defer close(c.over)
		for buf := make([]byte, 4096); ; {
			n, err := c.near.Read(buf)
			c.mu.Lock()
			c.text.Write(buf[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	b.t.Cleanup(c.end)
	return c
}

func (c *atTerminal) end() {
	if c.process == nil {
		return
	}
	c.process.End(0)
	<-c.over
	_, _ = c.near.Close(), c.stdin.Close()
	if c.confined.session != nil {
		c.confined.Release()
	}
	c.process = nil
}

// all waits for the end and returns the output.
func (c *atTerminal) all() string {
	c.t.Helper()
	if !c.process.Await(c.t.Context(), patience) {
		c.t.Error("it does not end")
	}
	c.end()
	return c.text.String()
}

// says waits for a line of output.
func (c *atTerminal) says() string {
	c.t.Helper()
	for limit := time.Now().Add(patience); ; {
		c.mu.Lock()
		line, _, found := strings.Cut(c.text.String(), "\r\n")
		c.mu.Unlock()
		if found {
			return line
		}
		if time.Now().After(limit) {
			c.t.Fatal("it says nothing")
		}
	}
}

func TestATerminalWorksInTheSandbox(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		for _, c := range []struct{ says, script, want string }{
			{"streams", "test -t 0 && test -t 1 && test -t 2 && echo yes", "yes\r\n"},
			{"size", "stty size", "30 100\r\n"},
			{"the controlling one", "echo there > /dev/tty", "there\r\n"},
			{"its name", "tty | sed 's/[0-9]*$/N/'; echo by name > $(tty)", "/dev/pts/N\r\nby name\r\n"},
			{"streams that are opened again", "echo out > /dev/stdout; echo err > /dev/stderr; echo in > /proc/self/fd/0", "out\r\nerr\r\nin\r\n"},
			{"settings", "stty -echo && stty -a | grep -o -- ' -echo '", " -echo \r\n"},
			{"a terminal in it", "script -qc 'tty && test -t 0 && echo inner' /dev/null | tail -1 | tr -d '\\r'", "inner\r\n"},
			{"in a process of its own", "(sleep 0; echo child > /dev/tty)", "child\r\n"},
		} {
			got := b.terminal("", c.script).all()
			if c.says == "a terminal in it" && tier == Landlock {
				continue // no rule lets it open the other end by its path
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", c.says, got, c.want)
			}
		}
	})
}

// TestACommandDoesNotReachTheTerminalOfAnother, of its session or another one, by
// its path or by a process's descriptors, to read from it or to write to it.
// Without a sandbox all of that works.
func TestACommandDoesNotReachTheTerminalOfAnother(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		const victim = "tty; exec sleep 60"
		for session, sessions := range map[string][]string{"one": {"one", "two", ""}, "": {"", "one"}} {
			v := b.terminal(session, victim)
			path := v.says()
			for _, other := range sessions {
				for says, script := range map[string]string{
					"reads it":           "exec 3<%[1]s && echo reached",
					"writes to it":       "exec 3>%[1]s && echo reached",
					"reads its input":    "exec 3</proc/%[2]d/fd/0 && echo reached",
					"writes its output":  "exec 3>/proc/%[2]d/fd/1 && echo reached",
					"by the parents' fd": "for f in /proc/[0-9]*/fd/*; do case $(readlink $f) in /dev/pts/*) echo reached;; esac; done",
				} {
					got := b.in(other, fmt.Sprintf(script, path, v.process.PID())).text
					if strings.Contains(got, "reached") {
						t.Errorf("a command of session %q %s, of session %q: %q", other, says, session, got)
					}
				}
				// One with a terminal of its own opens no other.
				script := fmt.Sprintf("for f in /dev/pts/[0-9]* %s; do test $f = $(tty) || { exec 3<>$f && echo reached; }; done", path)
				if got := b.terminal(other, script).all(); strings.Contains(got, "reached") {
					t.Errorf("a command of session %q with a terminal reached that of another: %q", other, got)
				}
			}
			v.end()
		}
		control := b.unconfinedTerminal(victim)
		path, pid := control.says(), control.process.PID()
		for _, file := range []string{path, fmt.Sprintf("/proc/%d/fd/0", pid)} {
			f, err := os.OpenFile(file, os.O_RDWR, 0)
			if err != nil {
				t.Errorf("without a sandbox it is not reached, so this test shows nothing: %v", err)
				continue
			}
			_ = f.Close()
		}
	})
}

// typing tries to type for others by an ioctl at its own terminal, and says what
// came of it.
const typing = `exec /usr/bin/python3 -c '
import fcntl, errno
for name, number, arg in ("TIOCSTI", 0x5412, b"x"), ("TIOCLINUX", 0x541c, b"\x03"), ("TIOCSTI", 0x100005412, b"x"):
    try:
        fcntl.ioctl(0, number & 0xffffffff, arg)
        print(name, "done")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
'`

func TestNobodyTypesAtATerminalButTheServer(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		if got := b.terminal("", typing).all(); strings.Count(got, "EPERM") != 3 {
			t.Errorf("%q", got)
		}
		control := b.unconfinedTerminal(typing).all()
		want := "TIOCSTI done"
		if legacy, err := os.ReadFile("/proc/sys/dev/tty/legacy_tiocsti"); err == nil && strings.TrimSpace(string(legacy)) == "0" && os.Getuid() != 0 {
			want = "TIOCSTI EIO" // the kernel refuses it by itself
		}
		if !strings.Contains(control, want) {
			t.Errorf("without a sandbox: %q, want %q", control, want)
		}
	})
}

// TestATerminalLeavesNothingInTheSandbox: a later command of the session finds
// neither the terminal nor a rule for it.
func TestATerminalLeavesNothingInTheSandbox(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		for range 5 {
			c := b.terminal("one", "tty; cat")
			path := c.says()
			if _, err := io.WriteString(c.near, "typed\n"); err != nil {
				t.Error(err)
			}
			c.end()
			if got := b.in("one", "ls /dev/pts | grep -v ptmx; exec 3<>"+path+" && echo reached").text; tier == Namespaces && !strings.Contains(got, path) || strings.Contains(got, "reached") {
				t.Errorf("%q", got)
			}
		}
	})
}
