//go:build linux

package run

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tipstaff"
)

// steered is a command that runs, with what can be done with it.
type steered struct {
	Controls
	t    *testing.T
	mu   sync.Mutex
	text bytes.Buffer // of its standard output
	came chan struct{}
	end  chan tipstaff.Result
}

// steer starts a command, and waits until it has been started.
func (b *bench) steer(req tipstaff.Request) *steered {
	b.t.Helper()
	s := &steered{t: b.t, came: make(chan struct{}, 1), end: make(chan tipstaff.Result, 1)}
	started := make(chan struct{})
	live := Live{
		Observer: Observer{Controls: func(c Controls) { s.Controls = c },
			Started: func() {
				if s.Controls == nil {
					b.t.Error("it was started before its controls were given")
				}
				close(started)
			},
			Stdout: func(p []byte) {
				s.mu.Lock()
				s.text.Write(p)
				s.mu.Unlock()
				select {
				case s.came <- struct{}{}:
				default:
				}
			}},
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := b.grant(req)
	go func() {
		r, err := b.local.Run(ctx, g, live)
		if err != nil {
			b.t.Error(err)
			close(started)
		}
		s.end <- r
		g.Close()
	}()
	b.t.Cleanup(func() { cancel(); <-s.end })
	<-started
	return s
}

// says waits until the output contains a text.
func (s *steered) says(text string) {
	s.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		all := s.text.String()
		s.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-s.came:
		case <-limit:
			s.t.Fatalf("it does not say %q but %q", text, all)
		}
	}
}

// ended waits for the result.
func (s *steered) ended() tipstaff.Result {
	s.t.Helper()
	select {
	case r := <-s.end:
		s.end <- r
		return r
	case <-time.After(20 * time.Second):
		s.t.Fatal("it does not end")
		return tipstaff.Result{}
	}
}

// waits waits until the command waits for input.
func (s *steered) waits() {
	s.t.Helper()
	for limit := time.Now().Add(20 * time.Second); !s.WaitsForInput(); {
		if time.Now().After(limit) {
			s.t.Fatal("it never waits for input")
		}
	}
}

func (s *steered) types(text string) {
	s.t.Helper()
	if n, err := s.Input(s.t.Context(), []byte(text)); err != nil || n != len(text) {
		s.t.Fatalf("%d bytes of %q, %v", n, text, err)
	}
}

func background(words ...string) tipstaff.Request {
	return tipstaff.Request{Argv: words, Background: true}
}

func TestTheInputOfABackgroundCommandStaysOpenUntilItIsClosed(t *testing.T) {
	req := background("cat")
	req.Stdin = []byte("first\n")
	c := newBench(t).steer(req)
	c.says("first\n")
	c.waits()
	c.types("second\n")
	c.says("second\n")
	if err := c.CloseInput(); err != nil {
		t.Error(err)
	}
	r := c.ended()
	if r.ExitCode != 0 || output(r.Stdout) != "first\nsecond\n" {
		t.Errorf("%d %q", r.ExitCode, output(r.Stdout))
	}
	_, err := c.Input(t.Context(), []byte("x"))
	_, err2 := c.Listens(1)
	for _, err := range []error{err, err2, c.CloseInput(), c.Signal(syscall.SIGINT), c.Signal(syscall.SIGKILL), c.Resize(tipstaff.TerminalSize{})} {
		if !errors.Is(err, ErrEnded) {
			t.Errorf("after its end: %v", err)
		}
	}
	if c.WaitsForInput() {
		t.Error("it waits after its end")
	}
}

func TestInputAfterItsEndIsRefused(t *testing.T) {
	b := newBench(t)
	foreground := argv("sh", "-c", "echo ready; sleep 60")
	c := b.steer(foreground)
	c.says("ready")
	if _, err := c.Input(t.Context(), []byte("x")); !errors.Is(err, ErrInputClosed) {
		t.Errorf("a command without input: %v", err)
	}
	foreground.Stdin = []byte("all of it\n")
	foreground.Argv = []string{"sh", "-c", "cat; echo closed; sleep 60"}
	c = b.steer(foreground)
	c.says("all of it\nclosed")
	if _, err := c.Input(t.Context(), []byte("x")); !errors.Is(err, ErrInputClosed) {
		t.Errorf("a foreground command: %v", err)
	}
	c = b.steer(background("sh", "-c", "cat; echo closed; sleep 60"))
	if err := errors.Join(c.CloseInput()); err != nil {
		t.Error(err)
	}
	c.says("closed")
	if _, err := c.Input(t.Context(), []byte("x")); !errors.Is(err, ErrInputClosed) || !errors.Is(c.CloseInput(), ErrInputClosed) {
		t.Errorf("closed twice: %v", err)
	}
	c = b.steer(background("sh", "-c", "exec 0<&-; echo closed; sleep 60"))
	c.says("closed")
	if _, err := c.Input(t.Context(), []byte("x")); !errors.Is(err, ErrInputClosed) {
		t.Errorf("the program has closed it: %v", err)
	}
}

func TestInputWaitsForAProgramOnlyAsLongAsItsCaller(t *testing.T) {
	c := newBench(t).steer(background("sleep", "60"))
	much := make([]byte, 1<<20)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	n, err := c.Input(ctx, much)
	if n == 0 || n == len(much) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
	// A second one waits for its turn no longer than its caller either.
	if n, err := c.Input(ctx, much); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
	done := make(chan error)
	go func() {
		_, err := c.Input(context.Background(), much)
		done <- err
	}()
	if err := c.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	// The pipe may break before the end of the command is known; both are true.
	if err := <-done; !errors.Is(err, ErrEnded) && !errors.Is(err, ErrInputClosed) {
		t.Errorf("at the end of the command: %v", err)
	}
	c.ended()
	if _, err := c.Input(t.Context(), much); !errors.Is(err, ErrEnded) {
		t.Errorf("after the end of the command: %v", err)
	}
}

func TestT6AStoppedCommandIsEndedWhole(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		signal   syscall.Signal
		argv     []string
		ends     string
		from, to time.Duration
	}{
		{syscall.SIGTERM, []string{"testcmd", "term-print"}, "", 0, StopGrace},
		{syscall.SIGTERM, []string{"testcmd", "ignore"}, "SIGKILL", StopGrace, 3 * time.Second},
		{syscall.SIGKILL, []string{"testcmd", "ignore"}, "SIGKILL", 0, StopGrace},
	} {
		var took time.Duration
		for tries := 0; tries == 0 || took > c.to && tries < 3; tries++ { // a busy machine takes longer
			p := b.steer(background(c.argv...))
			p.says("ready")
			began := time.Now()
			if err := p.Signal(c.signal); err != nil {
				t.Error(err)
			}
			r := p.ended()
			took = time.Since(began)
			if r.Cause != tipstaff.Stopped || r.Signal != c.ends && took <= c.to || took < c.from { // what takes too long to end is killed
				t.Errorf("%q at %v: %v %q after %v", c.argv, c.signal, r.Cause, r.Signal, took)
			}
		}
		if took > c.to {
			t.Errorf("%q at %v took %v, more than %v", c.argv, c.signal, took, c.to)
		}
	}
	p := b.steer(background("python3", "-u", "-c", "import time\ntry: print('ready'); time.sleep(60)\nexcept KeyboardInterrupt: print('interrupted')"))
	p.says("ready")
	if err := p.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	if r := p.ended(); r.Cause != tipstaff.Exited || r.ExitCode != 0 || !strings.HasSuffix(output(r.Stdout), "interrupted\n") {
		t.Errorf("SIGINT: %v %d %q", r.Cause, r.ExitCode, output(r.Stdout))
	}
}

func TestListensToldOfTheCommandAlone(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	p := newBench(t).steer(background("cat"))
	if is, err := p.Listens(uint16(port)); is || err != nil { // the test listens there
		t.Errorf("%v, %v", is, err)
	}
}

func TestATimeoutSaysThatTheCommandWaitedForInput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		argv  []string
		waits bool
	}{
		{[]string{"cat"}, true},
		{[]string{"python3", "-c", "input('Password: ')"}, true},
		{[]string{"sleep", "60"}, false},
	} {
		req := background(c.argv...)
		req.Timeout = time.Second
		r := b.outlived(req, func(r tipstaff.Result) bool { return r.WaitedForInput == c.waits })
		said := strings.Join(r.Notes, " ")
		if r.Cause != tipstaff.TimedOut || r.WaitedForInput != c.waits || strings.Contains(said, "It waits for input at its standard input: write_input") != c.waits {
			t.Errorf("%q: %v, %q", c.argv, r.Cause, said)
		}
	}
}
