//go:build linux && (amd64 || arm64)

package proc

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// atTerminal starts a shell script at a terminal.
func atTerminal(t *testing.T, e *Engine, script string) *Process {
	t.Helper()
	p, err := e.Start(Launch{
		Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: root(t).Fd(), DirPath: "/",
		Terminal: &tipstaff.TerminalSize{Rows: 30, Columns: 100}, Confine: confinementOf(e),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End(0); _ = p.Terminal().Close() })
	return p
}

func root(t *testing.T) *os.File {
	t.Helper()
	d, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestEveryKindOfEngineGivesTerminals(t *testing.T) {
	for name, e := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			p := atTerminal(t, e, "stty size; echo x >/dev/tty; read line; echo $line; setsid sleep 60 & sleep 0.1")
			near := p.Terminal()
			eventually(t, "the shell waits", func() bool { return p.WaitsFor(near.Input()) })
			if _, err := io.WriteString(near, "typed\n"); err != nil {
				t.Error(err)
			}
			if st := p.Status(); st.ExitCode != 0 || st.Err != nil {
				t.Errorf("%+v", st)
			}
			p.End(time.Second)
			_ = near.SetReadDeadline(time.Now().Add(10 * time.Second))
			all, err := io.ReadAll(near) // it ends by EIO, because nobody has the other end
			if text := string(all); text != "30 100\r\nx\r\ntyped\r\ntyped\r\n" || err == nil || os.IsTimeout(err) {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

func TestAStartAtATerminalThatFailsLeavesNothing(t *testing.T) {
	e := newEngine(t)
	failing := Launch{Path: "/no/such/program", Argv: []string{"x"}, Dir: root(t).Fd(), DirPath: "/", Terminal: &tipstaff.TerminalSize{Rows: 1, Columns: 1}}
	start := func() {
		if _, err := e.Start(failing); err == nil {
			t.Fatal("it started")
		}
	}
	start()
	before := testcmdtest.Descriptors(t)
	for range 10 {
		start()
	}
	if after := testcmdtest.Descriptors(t); after > before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}

// TestEachInstanceHasTerminalsOfItsOwn: one command's terminal has no name for
// another command of the same enclosure, at the same time.
func TestEachInstanceHasTerminalsOfItsOwn(t *testing.T) {
	e := newEngine(t)
	n := enclose(t, e, &NamespaceSpec{ReadOnly: true, Mounts: []Mount{{Path: "/dev/pts", Terminals: true}}})
	if !n.Untouched() {
		t.Fatal("new namespaces do not count as untouched")
	}
	one := atTerminal(t, e, "tty; exec sleep 60")
	buf := make([]byte, 100)
	k, err := one.Terminal().Read(buf)
	if name := strings.TrimSpace(string(buf[:k])); err != nil || !strings.HasPrefix(name, "/dev/pts/") {
		t.Fatalf("%q, %v", name, err)
	}
	if got := inside(t, n, "/", "ls /dev/pts"); got != "ptmx\n" {
		t.Errorf("another command sees %q", got)
	}
	n = enclose(t, e, &NamespaceSpec{ReadOnly: true, Mounts: []Mount{{Path: "/dev/pts", Terminals: true}}})
	// Only root's commands can: the directory is root's, whom no other user's
	// namespace knows.
	if got := inside(t, n, "/", "chmod 700 /dev/pts"); (got == "") == n.Untouched() {
		t.Errorf("%q, and it counts as untouched: %v", got, n.Untouched())
	}
}
