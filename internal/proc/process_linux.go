//go:build linux && (amd64 || arm64)

package proc

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tipstaff"
)

// Process is a started program. One goroutine at a time may call its methods, except
// those that say otherwise. [Process.End] must be called, else its instance is never
// used again.
type Process struct {
	engine   *Engine
	pid      int
	pidfd    *os.File
	instance *instance
	terminal *Terminal // nil without one
	ruleset  int       // of its own, while it is started; 0: that of the enclosure
	// released: no process of the command is left, and its instance has been
	// returned.
	released atomic.Bool
	holding  sync.RWMutex // held while a method uses the instance beside the others, and to release it
	ended    atomic.Bool  // set after status
	status   Status
}

// PID returns the process id, which is also the id of the process group.
func (p *Process) PID() int { return p.pid }

// Await waits until the program has ended, limit is over, or ctx is done, and reports
// whether the program has ended. Its descendants may still run.
func (p *Process) Await(ctx context.Context, limit time.Duration) bool {
	if p.ended.Load() {
		return true
	}
	_ = p.pidfd.SetReadDeadline(time.Now().Add(limit))
	if ctx.Done() != nil {
		leave := p.interruptWhen(ctx)
		defer leave()
	}
	return p.reap()
}

// interruptWhen ends the wait when ctx is done. After the caller has called
// leave, ctx affects no later wait.
func (p *Process) interruptWhen(ctx context.Context) (leave func()) {
	var mu sync.Mutex
	left := false
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !left {
			_ = p.pidfd.SetReadDeadline(time.Unix(1, 0))
		}
	})
	return func() {
		stop()
		mu.Lock()
		left = true
		mu.Unlock()
	}
}

// Status waits until the program has ended, and returns how it ended.
func (p *Process) Status() Status {
	if !p.ended.Load() {
		_ = p.pidfd.SetReadDeadline(time.Time{})
		p.reap()
	}
	return p.status
}

// reap waits for the end of the program until the deadline of the pidfd. The
// poller wakes it, so it occupies no thread.
func (p *Process) reap() bool {
	raw, err := p.pidfd.SyscallConn()
	var st Status
	var waitErr error
	if err == nil {
		err = raw.Read(func(fd uintptr) bool {
			var again bool
			st, again, waitErr = waitid(fd)
			return !again
		})
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	if err = errors.Join(err, waitErr); err != nil {
		st = Status{Err: err}
	}
	p.status = st
	p.ended.Store(true)
	p.engine.live.Delete(p.pid)
	p.engine.ended.Add(1)
	_ = p.pidfd.Close()
	return true
}

// siginfo is siginfo_t as waitid(2) fills it, on 64-bit systems.
type siginfo struct {
	signo, errno, code int32
	_                  int32
	pid                int32
	uid                uint32
	status             int32
	_                  [100]byte
}

// How a child ended: si_code of SIGCHLD, sigaction(2).
const (
	cldExited = 1
	cldKilled = 2
	cldDumped = 3
)

// waitid reaps the process behind a pidfd. again means that it has not ended.
func waitid(pidfd uintptr) (st Status, again bool, err error) {
	if st, again, err = waitidFor(pidfd, 0); !errors.Is(err, unix.ECHILD) {
		return st, again, err
	}
	// Commands are made without a signal for their end, and get SIGCHLD for it at
	// exec. wait(2) keeps both kinds apart: what is found here has never come to exec.
	st, again, err = waitidFor(pidfd, unix.WCLONE)
	st.Unstarted = err == nil && !again
	return st, again, err
}

// waitidFor is one call of waitid(2) with the usage of the child, which the wrapper in
// x/sys does not return. kind is 0 for children that signal their end with SIGCHLD, or
// WCLONE for the others.
func waitidFor(pidfd, kind uintptr) (st Status, again bool, err error) {
	var info siginfo
	var usage unix.Rusage
	for {
		_, _, errno := unix.Syscall6(unix.SYS_WAITID, unix.P_PIDFD, pidfd, uintptr(unsafe.Pointer(&info)), unix.WEXITED|kind, uintptr(unsafe.Pointer(&usage)), 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN, errno == 0 && info.pid == 0:
			return st, true, nil
		case errno != 0:
			return st, false, errno
		}
		break
	}
	switch info.code {
	case cldExited:
		st.ExitCode = int(info.status)
	case cldKilled, cldDumped:
		st.Signal, st.CoreDumped = int(info.status), info.code == cldDumped
		st.SignalName = signalName(syscall.Signal(info.status))
	}
	st.Usage = tipstaff.Usage{
		UserCPU:          time.Duration(usage.Utime.Nano()),
		SystemCPU:        time.Duration(usage.Stime.Nano()),
		MaxResidentBytes: usage.Maxrss << 10, // KiB, getrusage(2)
	}
	return st, false, nil
}
