//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// What may be asked of a command while it runs. These methods may be called
// beside all others and concurrently. They concern the command with everything
// that it started, and nothing once its end is under way: the instance may hold
// another command by then.

// reached returns the processes of the command, and holds its instance until
// done is called; none if the command has ended.
func (p *Process) reached() (pids []int, done func()) {
	p.holding.RLock()
	if p.released.Load() {
		p.holding.RUnlock()
		return nil, func() {}
	}
	pids = p.instance.members(p.pid)
	if !p.ended.Load() && !slices.Contains(pids, p.pid) {
		pids = append(pids, p.pid) // its limits cannot be read: see force
	}
	return pids, p.holding.RUnlock
}

// SignalAll sends a signal to every process of the command that there is at the
// moment. It fails when there is none, or one may not be sent to.
func (p *Process) SignalAll(s syscall.Signal) error {
	pids, done := p.reached()
	defer done()
	sent := 0
	var failed error
	for _, pid := range pids {
		err := unix.ESRCH
		switch {
		case pid != p.pid:
			err = 0
			if failed := unix.Kill(pid, s); failed != nil && !errors.As(failed, &err) {
				err = unix.EINVAL
			}
		case p.Signal(s) == nil:
			err = 0
		}
		switch err {
		case 0:
			sent++
		case unix.ESRCH: // it has ended meanwhile
		default:
			failed = fmt.Errorf("cannot send a signal: %w", err)
		}
	}
	if sent == 0 && failed == nil {
		failed = fmt.Errorf("cannot send a signal: %w", unix.ESRCH)
	}
	return failed
}

// InputOf identifies a file that is the standard input of a program.
func InputOf(f *os.File) (Input, error) {
	var st unix.Stat_t
	raw, err := f.SyscallConn()
	if err != nil {
		return Input{}, fmt.Errorf("cannot identify an input: %w", err)
	}
	var failed error
	if err = raw.Control(func(fd uintptr) { failed = unix.Fstat(int(fd), &st) }); err == nil {
		err = failed
	}
	if err != nil {
		return Input{}, fmt.Errorf("cannot identify an input: %w", err)
	}
	return inputOf(&st), nil
}

func inputOf(st *unix.Stat_t) Input {
	in := Input{device: st.Dev, inode: st.Ino}
	if st.Mode&unix.S_IFMT == unix.S_IFCHR {
		in.terminal = st.Rdev
	}
	return in
}
