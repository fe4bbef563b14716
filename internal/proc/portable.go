//go:build !linux || !(amd64 || arm64)

package proc

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// Engine starts programs with os/exec and ends their process groups. It is used on
// systems for which this package has no engine of its own: a descendant that leaves its
// process group survives there. The zero Engine is ready to use. Its methods may be
// called concurrently.
type Engine struct{}

// NewEngine returns the portable engine.
func NewEngine(Options) (*Engine, error) { return &Engine{}, nil }

// Means says what this engine does and what it cannot do.
func (*Engine) Means() Means {
	return Means{
		Start: "os/exec", End: "process group",
		Reason: "the engine that ends whole trees exists for Linux on amd64 and arm64; here a descendant that leaves the process group survives",
	}
}

// Reaped returns 0: servers keep no owner locks on this system.
func (*Engine) Reaped() int { return 0 }

// Close does nothing.
func (*Engine) Close() error { return nil }

// Process is a started program. One goroutine at a time may call its methods.
type Process struct {
	cmd    *exec.Cmd
	done   chan struct{}
	status Status
}

// errNoFile: os/exec finds programs by their paths only.
var errNoFile = errors.New("a program cannot be started from an open file on this system")

// Start starts the program in a session and process group of its own. If the
// kernel refuses, the error wraps a [syscall.Errno], and nothing runs.
func (*Engine) Start(l Launch) (*Process, error) {
	if l.File != nil {
		return nil, errNoFile
	}
	if l.Terminal != nil {
		return nil, errNoTerminals
	}
	dir, err := dirPath(l.Dir)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: l.Path, Args: l.Argv, Env: l.Env, Dir: dir, SysProcAttr: attributes(), ExtraFiles: l.More}
	// A nil *os.File must not become a non-nil io.Reader.
	if l.Stdin != nil {
		cmd.Stdin = l.Stdin
	}
	if l.Stdout != nil {
		cmd.Stdout = l.Stdout
	}
	if l.Stderr != nil {
		cmd.Stderr = l.Stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go p.wait()
	return p, nil
}

func (p *Process) wait() {
	err := p.cmd.Wait()
	p.status = statusOf(p.cmd.ProcessState, err)
	close(p.done)
}

// PID returns the process id, which is also the id of the process group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Await waits until the program has ended, limit is over, or ctx is done, and
// reports whether the program has ended. Its descendants may still run.
func (p *Process) Await(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.ended()
}

// Signal sends a signal to the program itself, not to what it started.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Status waits until the program has ended, and returns how it ended.
func (p *Process) Status() Status {
	<-p.done
	return p.status
}

// End ends the program and its process group: with SIGTERM first, and with
// SIGKILL after the grace period. It returns when the program has been reaped
// and the group is empty, or after SIGKILL was sent. It may be called after the
// program has ended, to end what the program left behind; left is then 1 if that
// was something, else 0.
func (p *Process) End(grace time.Duration) (left int) {
	if p.groupGone() {
		return 0
	}
	if p.ended() {
		left = 1
	}
	p.terminate()
	if !p.waitGone(grace) {
		p.kill()
	}
	<-p.done
	return left
}

// waitGone waits until the process group is empty, at most for d.
func (p *Process) waitGone(d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
		return false
	}
	// The system does not report the end of the other members, so poll.
	const first, last = time.Millisecond, 16 * time.Millisecond
	for pause := first; !p.groupGone(); pause = min(2*pause, last) {
		select {
		case <-time.After(pause):
		case <-limit.C:
			return p.groupGone()
		}
	}
	return true
}

// ended reports whether the program itself has been reaped.
func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
