package proc

import (
	"os"
	"os/exec"
	"time"

	"tipstaff"
)

// Launch says how to start a program. Every field is used as it is.
type Launch struct {
	Path string   // absolute path of the program's file
	Argv []string // its name first; never empty
	Env  []string // the whole environment, each "NAME=value"
	Dir  uintptr  // descriptor of the directory to start in, open until Start returns
	// The program's standard streams. nil is /dev/null. Start does not close them.
	Stdin, Stdout, Stderr *os.File
}

// Process is a started program. Its methods may be called from many
// goroutines at once.
type Process struct {
	cmd    *exec.Cmd
	done   chan struct{}
	status Status
}

// Status is how the program itself ended, exactly as the kernel told it.
type Status struct {
	ExitCode   int    // valid when Signal is 0
	Signal     int    // the number of the signal that ended it, or 0
	SignalName string // its name, "SIGKILL"
	CoreDumped bool
	Usage      tipstaff.Usage
	// Err is set when the end could not be observed; then nothing else is valid.
	Err error
}

// Start starts the program in a session and process group of its own. An
// error is a [syscall.Errno] in its chain where the kernel refused; nothing
// runs then.
func Start(l Launch) (*Process, error) {
	dir, err := dirPath(l.Dir)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path:        l.Path,
		Args:        l.Argv,
		Env:         l.Env,
		Dir:         dir,
		SysProcAttr: attributes(),
	}
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

// PID is the process id, which is also the id of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the program itself has ended. Descendants may live on.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status tells how the program ended. It waits for Done.
func (p *Process) Status() Status {
	<-p.done
	return p.status
}

// End ends the program and its process group: politely first, by force when
// grace is over. It returns when the program has been reaped and no member of
// the group is left, or when the force has been used. It may be called after
// the program has ended, to end what it left behind.
func (p *Process) End(grace time.Duration) {
	if p.groupGone() {
		return
	}
	p.terminate()
	if !p.waitGone(grace) {
		p.kill()
	}
	<-p.done
}

// waitGone waits until no member of the group is left, at most for d.
func (p *Process) waitGone(d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
		return false
	}
	// The end of the other members is told to nobody, so it is asked for.
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
