//go:build linux && (amd64 || arm64)

package proc

import (
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Start starts the program in a session and process group of its own, and
// returns when it is another program than the server. An error is a
// [*StepError] or a [syscall.Errno]; nothing runs then.
func (e *Engine) Start(l Launch) (*Process, error) {
	defer runtime.KeepAlive(l) // its files stay open until the end
	for {
		p := &Process{engine: e}
		if err := p.takePlace(l.Confine); err != nil {
			return nil, err
		}
		err := e.start(p, l)
		if err == nil {
			return p, nil
		}
		dead := p.place.zygote.dead
		p.release(false)
		if !dead {
			return nil, err
		}
		// Somebody has killed the zygote, and with it nothing but that. The
		// place is thrown away; the next one is another.
	}
}

// takePlace takes a place for the command.
func (p *Process) takePlace(in *Enclosure) (err error) {
	if in == nil {
		if in, err = p.engine.openEnclosure(); err != nil {
			return err
		}
	}
	p.place, err = in.take()
	return err
}

func (e *Engine) start(p *Process, l Launch) error {
	fds, giveBack, err := e.descriptors(l)
	if err != nil {
		return err
	}
	defer giveBack()
	s, err := e.childSteps(l, p, fds)
	if err != nil {
		return err
	}
	return e.launch(p, s, fds)
}

// launch makes the child and notes it before anybody could take it for an orphan.
func (e *Engine) launch(p *Process, s *childSteps, fds streams) error {
	c := e.clone.Load()
	o := cloning{flags: unix.CLONE_PIDFD, cgroup: p.place.born(), by: p.place.zygote}
	if p.place.in.open {
		o.by, o.cgroup = nil, p.place.birthGroup(c.legacy)
	}
	if fds.beyond != nothingBeyond {
		o.flags |= unix.CLONE_FILES
	}
	e.starting.RLock()
	defer e.starting.RUnlock()
	var pid, pidfd int
	var err error
	p.place.thread = onThread(func() { pid, pidfd, err = c.start(s, o) })
	if o.by != nil {
		p.place.thread = o.by.thread
	}
	if err != nil {
		return err
	}
	e.live.Store(pid, p)
	p.watch(pid, pidfd)
	return nil
}

// watch takes the process that the command has.
func (p *Process) watch(pid, pidfd int) {
	p.pid = pid
	// The poller takes descriptors that do not block; for a pidfd this also
	// means that waiting for it does not.
	_, _ = unix.FcntlInt(uintptr(pidfd), unix.F_SETFL, unix.O_RDWR|unix.O_NONBLOCK)
	p.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
}

// streams are the descriptors that a child takes over. None is below 3.
type streams struct {
	in, out, err, dir int
	// beyond: from here on, the child need copy none of the server's.
	beyond uintptr
}

// nothingBeyond says that a child copies all descriptors.
const nothingBeyond = math.MaxUint32

// childSteps lists what the child does. The order matters: descriptors are
// arranged before the others are closed, the directory is entered through one
// of them, and signals are let in last. A zygote's child has from it what is
// the same for all of them (see place.common); the server's own takes it on here.
func (e *Engine) childSteps(l Launch, p *Process, fds streams) (*childSteps, error) {
	s := newChildSteps()
	if p.place.in.open {
		p.place.common(s)
	}
	p.place.begin(s)
	path, err := s.text(l.Path)
	if err != nil {
		return nil, err
	}
	argv, err := s.texts(l.Argv)
	if err != nil {
		return nil, err
	}
	env, err := s.texts(l.Env)
	if err != nil {
		return nil, err
	}
	if fds.beyond != nothingBeyond {
		s.add("copy the descriptors", unix.SYS_CLOSE_RANGE, fds.beyond, math.MaxUint32, unix.CLOSE_RANGE_UNSHARE)
	}
	if p.place.space != nil {
		if err := s.enterByName(l.DirPath); err != nil {
			return nil, err
		}
	} else {
		s.add(enterDirectory, unix.SYS_FCHDIR, uintptr(fds.dir))
	}
	s.add("connect standard input", unix.SYS_DUP3, uintptr(fds.in), 0, 0)
	s.add("connect standard output", unix.SYS_DUP3, uintptr(fds.out), 1, 0)
	s.add("connect standard error", unix.SYS_DUP3, uintptr(fds.err), 2, 0)
	// All of the server's own are closed by exec in any case (see Seal).
	s.try("close the other descriptors", unix.SYS_CLOSE_RANGE, 3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	e.limitDescriptors(s, p.place.in.spec.Limits)
	s.add("let signals in", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, hold(s, &noSignals), 0, sigsetBytes)
	s.add("execute", unix.SYS_EXECVE, path, argv, env)
	return s, nil
}

// begin adds what each command of the place does first. It needs nothing that is
// the command's own.
func (p *place) begin(s *childSteps) {
	s.add("start a session", unix.SYS_SETSID)
	s.add("die with the server", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	if p.in.spec.Domain == DomainOfCommand {
		s.add(enterDomain, unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(p.in.ruleset), 0)
	}
}

var (
	zero      = []byte("0") // "whoever writes this", to a control group
	noSignals uint64
)

const (
	rlimitRTTime = 15 // RLIMIT_RTTIME, asm-generic/resource.h
	sigsetBytes  = 8
	lastSignal   = 64
)

// byDefault is struct kernel_sigaction with everything zero: the default action.
var byDefault [4]uint64

// defaultSignals gives every signal its default action. clone3 does so itself,
// but for those that are ignored; exec does, but for the same. A handler of
// the server must not run in the child, so without clone3 all are reset.
func (e *Engine) defaultSignals(s *childSteps, all bool) {
	if !all {
		for _, n := range e.ignored {
			s.add("default signals", unix.SYS_RT_SIGACTION, n, hold(s, &byDefault), 0, sigsetBytes)
		}
		return
	}
	for n := uintptr(1); n <= lastSignal; n++ {
		if n != uintptr(unix.SIGKILL) && n != uintptr(unix.SIGSTOP) {
			s.add("default signals", unix.SYS_RT_SIGACTION, n, hold(s, &byDefault), 0, sigsetBytes)
		}
	}
}
