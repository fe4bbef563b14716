//go:build linux

package sandbox

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// visitor is a box with a program in its workspace that connects to sockets.
func visitor(t *testing.T, tier Tier, changes ...func(*box, *Options)) *box {
	t.Helper()
	b := newBox(t, tier, changes...)
	program, err := os.ReadFile(testcmdtest.Build(t))
	b.must(err)
	b.must(os.WriteFile(filepath.Join(b.ws, "visit"), program, 0o755))
	return b
}

// through runs a script for which $DOOR names its door.
func (b *box) through(c Command, script string) string {
	b.t.Helper()
	confined, err := b.Confine(c)
	b.must(err)
	confined.Env = append(confined.Env, "PATH=/usr/bin:/bin", "DOOR="+confined.DoorPath("echo"))
	r := &running{confined: confined, stopped: b.t.Context()}
	if err := r.launch(b.o.Engine, c.Dir, script); err != nil {
		confined.Release()
		b.t.Fatal(err)
	}
	return r.wait().text
}

// echo is a door that says the name of its command.
func echo(name string) Door {
	return Door{Name: "echo", Serve: func(_ context.Context, conn *os.File) {
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil {
			_, _ = io.WriteString(conn, name+" heard "+line)
		}
	}}
}

func TestACommandReachesItsOwnDoorAndNoOtherSocket(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := visitor(t, tier)
		// The control: a server of somebody else's, in the workspace, where commands
		// see its socket, answers whoever is not confined.
		other := filepath.Join(b.ws, "s")
		l, err := net.Listen("unix", other)
		b.must(err)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = io.WriteString(c, "other\n"); _ = c.Close() }()
			}
		}()
		c, err := net.Dial("unix", other)
		b.must(err)
		if text, _ := bufio.NewReader(c).ReadString('\n'); text != "other\n" {
			t.Fatalf("the other server says %q", text)
		}
		_ = c.Close()

		with := Command{Dir: b.ws, Session: "one", Terms: Terms{Doors: true}, Doors: []Door{echo("first")}}
		for _, try := range []struct{ says, script, want string }{
			{"its door", `./visit attempt unix "$DOOR"`, `first heard hello`},
			{"its door again, and what it starts", `sh -c './visit attempt unix "$DOOR"; ./visit attempt unix "$DOOR"'`, `first heard hello`},
			{"another server's socket", "./visit attempt unix " + other, `"errno":"EACCES"`},
			{"another server's socket, with what was connected to its door", `./visit attempt reconnect "$DOOR" ` + other, `"errno":"EACCES"`},
			{"a server on what was connected to its door", `./visit attempt listen-connected "$DOOR" l`, `"errno":"EINVAL"`},
			{"a pair", "./visit attempt pair stream", `"ok":true`},
			{"an abstract socket", "./visit attempt abstract x", `"errno":"ECONNREFUSED"`},
			{"a door that is none", "./visit attempt unix /run/tipstaff/x/echo", `"errno":"ECONNREFUSED"`},
			{"a datagram socket", "./visit attempt socket 1 2 0", `"errno":"ESOCKTNOSUPPORT"`},
			{"a server of its own on the internet", "./visit attempt serve 127.0.0.1", `"ok":true`},
		} {
			if got := b.through(with, try.script); !strings.Contains(got, try.want) || strings.Contains(got, "other") {
				t.Errorf("%s: %q, want %q", try.says, got, try.want)
			}
		}
		without := Command{Dir: b.ws, Session: "one"}
		if got := b.through(without, "./visit attempt unix "+other); !strings.Contains(got, "EACCES") {
			t.Errorf("a command without doors: %q", got)
		}
	})
}

// TestADoorIsItsCommandsAlone: another command with a door of its own, in the same
// session sandbox, does not get through it even if it is told where it is.
func TestADoorIsItsCommandsAlone(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := visitor(t, tier)
		c := Command{Dir: b.ws, Session: "one", Terms: Terms{Doors: true}, Doors: []Door{echo("first")}}
		past := b.through(c, `echo "$DOOR"; ./visit attempt unix "$DOOR"`)
		path, rest, _ := strings.Cut(past, "\n")
		if !strings.Contains(rest, "first heard") {
			t.Fatalf("the first one got %q", past)
		}
		c.Doors = []Door{echo("second")}
		if got := b.through(c, "./visit attempt unix "+path); !strings.Contains(got, "ECONNREFUSED") {
			t.Errorf("the door of a command that has ended: %q", got)
		}
		if got := b.through(c, `./visit attempt unix "$DOOR"`); !strings.Contains(got, "second heard") {
			t.Errorf("its own: %q", got)
		}
	})
}

func TestDoorsNeedTheirTerms(t *testing.T) {
	b := newBox(t, Landlock)
	if _, err := b.Confine(Command{Dir: b.ws, Doors: []Door{echo("x")}}); err == nil {
		t.Error("a command whose filter asks about nothing has doors")
	}
	off, err := New(Options{Mode: Off, Network: Network{Reach: AllNetwork}})
	b.must(err)
	if _, err := off.Confine(Command{Dir: b.ws, Terms: Terms{Doors: true}, Doors: []Door{echo("x")}}); err == nil {
		t.Error("a command that nothing confines has doors")
	}
}
