//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// These methods act on a command while it runs, with everything that it started. They
// may be called beside all others and concurrently. Once the instance was released, they
// do nothing, because it may have another command by then.

// reached returns the processes of the command, and keeps its instance from being
// released until done is called; none if the command has ended.
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

// SignalAll sends a signal to every process that the command has at the moment. It
// fails if there is none, or if one refuses the signal. A process that is forked
// meanwhile may not get it.
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

// Outlived reports whether processes of the command still run although its program has
// ended. It may be called beside all other methods.
func (p *Process) Outlived() bool {
	p.holding.RLock()
	defer p.holding.RUnlock()
	return p.ended.Load() && !p.released.Load() && p.leftovers()
}

// Names returns the names of the processes of the command, as the kernel has them: at
// most 15 bytes each, which the programs may have chosen. It may be called beside all
// other methods.
func (p *Process) Names() (names []string) {
	pids, done := p.reached()
	defer done()
	for _, pid := range pids {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if err == nil && running(pid) {
			names = append(names, strings.TrimSuffix(string(name), "\n"))
		}
	}
	return names
}

// InputOf identifies a file that is the standard input of a program, for
// [Process.WaitsFor].
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
