//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// talking is a command whose standard input stays open.
type talking struct {
	*Process
	t     *testing.T
	in    *os.File
	out   *os.File
	input Input
}

// talk starts a program of the machine with its standard input open.
func talk(t *testing.T, e *Engine, argv ...string) *talking {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w, r, err := Pipe(false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer outW.Close()
	c := &talking{t: t, in: w, out: out}
	if c.input, err = InputOf(r); err != nil {
		t.Fatal(err)
	}
	c.Process, err = e.Start(Launch{
		Path: path, Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}, Dir: d.Fd(), DirPath: d.Name(),
		Stdin: r, Stdout: outW, Stderr: outW, Confine: confinementOf(e),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.End(0); _, _ = w.Close(), out.Close() })
	return c
}

// says waits for a piece of output.
func (c *talking) says() string {
	c.t.Helper()
	buf := make([]byte, 1<<10)
	_ = c.out.SetReadDeadline(time.Now().Add(20 * time.Second))
	n, err := c.out.Read(buf)
	if err != nil {
		c.t.Fatalf("it said nothing: %v", err)
	}
	return string(buf[:n])
}

// eventually tries until something is so.
func eventually(t *testing.T, says string, so func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !so(); {
		if time.Now().After(limit) {
			t.Fatalf("%s: it never is", says)
		}
	}
}

func python(script string) []string { return []string{"/usr/bin/python3", "-u", "-c", script} }

// TestAProgramThatWaitsForInputIsToldFromOneThatWorks, in every kind of engine:
// the processes of a command may be in namespaces.
func TestAProgramThatWaitsForInputIsToldFromOneThatWorks(t *testing.T) {
	for name, e := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			for _, argv := range [][]string{{"cat"}, {"sh", "-c", "cat; true"}, python("import select; select.select([0],[],[])")} {
				c := talk(t, e, argv...)
				eventually(t, strings.Join(argv, " ")+" waits", func() bool { return c.WaitsFor(c.input) })
				if c.End(0); c.WaitsFor(c.input) {
					t.Errorf("%q: it waits after its end", argv)
				}
			}
			for _, script := range []string{"echo; exec sleep 60", "echo; while :; do :; done", "echo; sleep 60 | cat"} {
				c := talk(t, e, "sh", "-c", script)
				c.says()
				for range 20 {
					if c.WaitsFor(c.input) {
						t.Fatalf("%q is said to wait for input", script)
					}
				}
				c.End(0)
			}
		})
	}
}

// TestHowAProgramMayWaitForInput: event loops wait for many things, and only some
// of them are input.
func TestHowAProgramMayWaitForInput(t *testing.T) {
	e := newEngine(t)
	const poll = "import select,os,socket,time\np=select.poll()\np.register(0,1)\n"
	const epoll = "import select,os,socket,time\np=select.epoll()\np.register(0,1)\n"
	for _, c := range []struct {
		says, script string
		waits        bool
	}{
		{"a line of input", "input()", true},
		{"a read in a thread while the main thread waits for it", "import threading,os\nt=threading.Thread(target=lambda: os.read(0,1))\nt.start()\nt.join()", true},
		{"poll", poll + "p.poll()", true},
		{"poll that looks often whether to end", poll + "while True: p.poll(100)", true},
		{"poll that draws a screen every second", poll + "while True: p.poll(1000)", false},
		{"select that draws a screen every second", "import select\nwhile True: select.select([0],[],[],1)", false},
		{"poll, and a pipe of its own to wake itself", poll + "r,w=os.pipe()\np.register(r,1)\np.poll()", true},
		{"poll, and the pipe of a child that works", poll + "r,w=os.pipe()\nif os.fork()==0: os.close(r); time.sleep(60)\nos.close(w)\np.register(r,1)\np.poll()", false},
		{"epoll", epoll + "p.poll()", true},
		{"epoll, and an eventfd", epoll + "p.register(os.eventfd(0),1)\np.poll()", true},
		{"epoll, and a socket", epoll + "s=socket.socket()\ns.bind(('127.0.0.1',0))\ns.listen()\np.register(s.fileno(),1)\np.poll()", false},
		{"select to write as well", "import select,socket\na,b=socket.socketpair()\na.setblocking(False)\ntry:\n while True: a.send(b'x'*9999)\nexcept BlockingIOError: pass\nselect.select([0],[a],[])", false},
		{"a thread that computes", "import threading,os\nthreading.Thread(target=lambda: os.read(0,1)).start()\nwhile True: pass", false},
		{"something else", "import os\nr,w=os.pipe()\nos.read(r,1)", false},
		{"a sleep", "import time\ntime.sleep(60)", false},
	} {
		t.Run(c.says, func(t *testing.T) {
			p := talk(t, e, python("print('ready')\n"+c.script)...)
			p.says()
			// The other threads of the interpreter come to rest.
			resting := func() bool { return p.WaitsFor(p.input) == c.waits }
			eventually(t, c.says, resting)
			for range 50 {
				if !c.waits && p.WaitsFor(p.input) {
					t.Fatal("it is said to wait for input")
				}
			}
		})
	}
}

func TestASignalReachesEveryProcessOfACommand(t *testing.T) {
	const script = `trap 'echo one' USR1; setsid sh -c 'trap "echo two; exit" USR1; echo ready; while :; do sleep 0.05; done' & while :; do sleep 0.05; done`
	for name, e := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			c := talk(t, e, "bash", "-c", script)
			c.says()
			if err := c.SignalAll(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			all := ""
			for !strings.Contains(all, "one") || !strings.Contains(all, "two") {
				all += c.says()
			}
			c.End(0)
			if err := c.SignalAll(syscall.SIGUSR1); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// TestListensIsAboutTheCommandsOwnSockets: the port is taken by a program outside,
// which the command must not be taken for.
func TestListensIsAboutTheCommandsOwnSockets(t *testing.T) {
	const listen = "import socket,time\ns=socket.socket(socket.%s)\ns.bind(('%s',0))\ns.listen()\nprint(s.getsockname()[1])\ntime.sleep(60)"
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	foreign := uint16(other.Addr().(*net.TCPAddr).Port)
	for name, e := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			for _, where := range [][2]string{{"AF_INET", "127.0.0.1"}, {"AF_INET6", "::1"}, {"AF_INET", "0.0.0.0"}} {
				script := strings.Replace(strings.Replace(listen, "%s", where[0], 1), "%s", where[1], 1)
				c := talk(t, e, "sh", "-c", "/usr/bin/python3 -u -c \"$0\" & wait", script)
				port, err := strconv.ParseUint(strings.TrimSpace(c.says()), 10, 16)
				if err != nil {
					t.Fatal(err)
				}
				for p, want := range map[uint16]bool{uint16(port): true, foreign: false, 1: false} {
					if got, err := c.Listens(p); err != nil || got != want {
						t.Errorf("%v, port %d: %v, %v", where, p, got, err)
					}
				}
				c.End(0)
				if got, err := c.Listens(uint16(port)); got || err != nil {
					t.Errorf("after the end: %v, %v", got, err)
				}
			}
		})
	}
}

// TestTheMethodsThatReachACommandMayBeCalledAtItsEnd, and reach no other that uses
// its instance afterwards.
func TestTheMethodsThatReachACommandMayBeCalledAtItsEnd(t *testing.T) {
	e := newEngine(t)
	for range 50 {
		c := talk(t, e, "cat")
		quit := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-quit:
					return
				default:
				}
				c.WaitsFor(c.input)
				_, _ = c.Listens(1)
				_ = c.SignalAll(syscall.SIGURG)
			}
		}()
		_ = c.in.Close()
		if st := c.Status(); st.ExitCode != 0 || st.Err != nil {
			t.Errorf("%+v", st)
		}
		c.End(0)
		next := talk(t, e, "sleep", "0.01")
		_ = c.SignalAll(syscall.SIGKILL)
		close(quit)
		<-done
		if _, err := io.ReadAll(next.out); err != nil {
			t.Error(err)
		}
		if st := next.Status(); st.Signal != 0 {
			t.Fatalf("a signal for an ended command ended another one: %+v", st)
		}
		next.End(0)
	}
}
