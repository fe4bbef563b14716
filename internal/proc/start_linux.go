//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts the program in a session and process group of its own, and
// returns when it is another program than the server. An error is a
// [*StepError] or a [syscall.Errno]; nothing runs then.
func (e *Engine) Start(l Launch) (*Process, error) {
	p := &Process{engine: e}
	p.tag = e.mark.command(e.counter.Add(1))
	if err := p.takeEnclosure(l.Confine); err != nil {
		return nil, err
	}
	err := e.start(p, l)
	runtime.KeepAlive(l) // its files stay open until here
	if err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// takeEnclosure takes what holds the command together: a PID namespace if it
// enters namespaces, else a control group if there are any.
func (p *Process) takeEnclosure(c *Confinement) (err error) {
	switch {
	case c != nil && c.Namespaces != nil:
		p.space, err = c.Namespaces.take()
	case p.engine.cells != nil:
		p.cell, err = p.engine.cells.take()
	}
	return err
}

func (e *Engine) start(p *Process, l Launch) error {
	fds, giveBack, err := e.descriptors(l)
	if err != nil {
		return err
	}
	defer giveBack()
	for {
		c := e.clone.Load()
		s, err := e.script(l, p, fds, c.legacy)
		if err != nil {
			return err
		}
		err = e.launch(p, *c, s, fds)
		var at *StepError
		if !c.legacy && errors.As(err, &at) && at.Step == makeProcess && noClone3(at.Errno) {
			e.clone.CompareAndSwap(c, &cloner{legacy: true})
			continue
		}
		return err
	}
}

// noClone3 reports whether an errno means that clone3 is not to be had:
// kernels before 5.7 lack what is asked of it, and sandboxes that cannot look
// at its arguments answer that there is no such call.
func noClone3(e syscall.Errno) bool {
	return e == unix.ENOSYS || e == unix.EINVAL || e == unix.E2BIG || e == unix.EPERM
}

// launch makes the child and notes it before anybody could take it for an orphan.
func (e *Engine) launch(p *Process, c cloner, s *script, fds streams) error {
	o := cloning{cgroup: -1}
	if p.cell != nil {
		o.cgroup = p.cell.dir
	}
	if fds.reserved {
		o.flags |= unix.CLONE_FILES
	}
	e.starting.RLock()
	defer e.starting.RUnlock()
	if p.space != nil {
		return e.launchInside(p, s, o)
	}
	o.flags, o.signal = o.flags|unix.CLONE_PIDFD, uint64(unix.SIGCHLD)
	pid, pidfd, err := c.start(s, o)
	if err != nil {
		return err
	}
	p.pid = pid
	e.live.Store(pid, p)
	// The poller takes descriptors that do not block; for a pidfd this also
	// means that waiting for it does not.
	_, _ = unix.FcntlInt(uintptr(pidfd), unix.F_SETFL, unix.O_RDWR|unix.O_NONBLOCK)
	p.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	return nil
}

// launchInside makes the child by way of a first process that enters the
// namespaces. The caller holds e.starting.
func (e *Engine) launchInside(p *Process, s *script, o cloning) error {
	if err := e.startTwin(s, o, s.twinPID); err != nil {
		return err
	}
	p.pid = int(*s.twinPID)
	e.live.Store(p.pid, p)
	pidfd, _, err := openPidfd(p.pid)
	if err != nil {
		_ = unix.Kill(p.pid, unix.SIGKILL)
		reapNow(p.pid)
		e.live.Delete(p.pid)
		return &StepError{Step: "watch the process", Errno: errnoOf(err)}
	}
	p.pidfd = pidfd
	return nil
}

// streams are the descriptors that a child takes over. None is below 3.
type streams struct {
	in, out, err, dir, ruleset int
	// reserved: they are low ones of the engine's own, so that the child need
	// not copy the rest of the table.
	reserved bool
}

// limits of resources that a child gets, apart from its mark.
var noCore = unix.Rlimit{}

// script lists what the child does. The order matters: descriptors are
// arranged before the others are closed, the directory is entered through one
// of them, and signals are let in last, when their handlers are the default.
func (e *Engine) script(l Launch, p *Process, fds streams, legacy bool) (*script, error) {
	s := &script{}
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
	mark, core, files := &unix.Rlimit{Cur: uint64(p.tag), Max: uint64(p.tag)}, noCore, e.files

	if legacy && p.cell != nil {
		s.add("enter the control group", unix.SYS_WRITE, uintptr(p.cell.procs), hold(s, &zero[0]), 1)
	}
	if p.space != nil {
		s.add("enter the namespaces", unix.SYS_SETNS, uintptr(p.space.fd), p.space.in.kinds())
	}
	if fds.reserved {
		s.add("copy the low descriptors", unix.SYS_CLOSE_RANGE, uintptr(e.slots.limit), math.MaxUint32, unix.CLOSE_RANGE_UNSHARE)
	}
	if p.space != nil {
		s.twin(0)
	}
	s.add("start a session", unix.SYS_SETSID)
	s.add("die with the server", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	// It can fail where the server itself carries a mark, because it was started
	// by another one: a limit cannot be raised.
	s.try("carry the mark", unix.SYS_PRLIMIT64, 0, rlimitRTTime, hold(s, mark), 0)
	s.add("write no core file", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, hold(s, &core), 0)
	s.add("limit descriptors", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, hold(s, &files), 0)
	if e.tasks > 0 {
		s.add("limit processes", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NPROC, hold(s, &unix.Rlimit{Cur: e.tasks, Max: e.tasks}), 0)
	}
	if l.Confine != nil {
		s.limit(l.Confine.Limits)
	}
	if p.space == nil {
		s.add(enterDirectory, unix.SYS_FCHDIR, uintptr(fds.dir))
	} else if err := s.enterByName(l.DirPath); err != nil {
		return nil, err
	}
	s.add("connect standard input", unix.SYS_DUP3, uintptr(fds.in), 0, 0)
	s.add("connect standard output", unix.SYS_DUP3, uintptr(fds.out), 1, 0)
	s.add("connect standard error", unix.SYS_DUP3, uintptr(fds.err), 2, 0)
	// All of the server's own are closed by exec in any case (see Seal).
	s.try("close the other descriptors", unix.SYS_CLOSE_RANGE, 3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	e.defaultSignals(s, legacy)
	if l.Confine != nil {
		s.confine(l.Confine, fds.ruleset)
	}
	s.add("let signals in", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, hold(s, &noSignals), 0, sigsetBytes)
	s.add("execute", unix.SYS_EXECVE, path, argv, env)
	return s, nil
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
func (e *Engine) defaultSignals(s *script, all bool) {
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
