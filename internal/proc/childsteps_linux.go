//go:build linux && (amd64 || arm64)

package proc

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childSteps is what a child does before it is another program: a flat list of
// system calls, prepared in Go and carried out without Go. The child must not
// allocate, lock or touch the stack, which are all its parent's; so it makes
// its calls one after the other, with arguments that were laid out before.
//
// What a step points to is on the heap and held by keep: the stack of a
// goroutine moves, the heap does not.
type childSteps struct {
	steps []step
	names []string // of the steps, for errors
	keep  []any

	twinPID *uintptr // of the process that goes on after a twin; nil without one
}

// usualSteps are more than most children have; to grow there step by step took a
// hundredth of a start.
const usualSteps = 32

// newChildSteps makes a list with room for what a command usually takes.
func newChildSteps() *childSteps {
	return &childSteps{steps: make([]step, 0, usualSteps), names: make([]string, 0, usualSteps), keep: make([]any, 0, 8)}
}

func (s *childSteps) add(name string, trap uintptr, arg ...uintptr) *step {
	st := step{trap: trap}
	copy(st.arg[:], arg)
	s.steps = append(s.steps, st)
	s.names = append(s.names, name)
	return &s.steps[len(s.steps)-1]
}

// try adds a step that may fail.
func (s *childSteps) try(name string, trap uintptr, arg ...uintptr) {
	s.add(name, trap, arg...).flags = mayFail
}

// hold keeps p until the child has started and gives its address.
func hold[T any](s *childSteps, p *T) uintptr {
	s.keep = append(s.keep, p)
	return uintptr(unsafe.Pointer(p))
}

// text lays out a string for the kernel; one with a NUL in it is EINVAL.
func (s *childSteps) text(t string) (uintptr, error) {
	p, err := syscall.BytePtrFromString(t)
	if err != nil {
		return 0, err
	}
	return hold(s, p), nil
}

// texts lays out a list of strings for the kernel.
func (s *childSteps) texts(list []string) (uintptr, error) {
	p, err := syscall.SlicePtrFromStrings(list)
	if err != nil {
		return 0, err
	}
	return hold(s, &p[0]), nil
}

// makeProcess is the step that comes before all others.
const makeProcess = "make a process"

// cloneArgs is struct clone_args of clone3(2).
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// attempt is one call of clone and what comes of it.
type attempt struct {
	call  vforkCall
	args  cloneArgs
	pidfd int32
}

// cloner knows which system call makes a child here.
type cloner struct{ legacy bool }

// sharing are the flags of every clone: the child shares memory, and its parent
// waits until it has another program.
const sharing = unix.CLONE_VM | unix.CLONE_VFORK

// cloning says what kind of child to make.
type cloning struct {
	flags  uint64 // beside sharing
	cgroup int    // descriptor of the control group to start in, or -1
	signal uint64 // that tells the server of the child's end; 0: none
	alone  bool   // the server does not wait for it
	by     *zygote
}

// start clones, and lets the child carry out s. It returns a process id, and
// the pidfd if the flags ask for one. A child that failed is reaped.
func (c cloner) start(s *childSteps, o cloning) (pid, pidfd int, err error) {
	a := &attempt{pidfd: -1}
	s.keep = append(s.keep, a)
	var id, errno uintptr
	if o.by != nil {
		o.flags |= unix.CLONE_PARENT
		a.prepare(o.cgroup < 0, o, s)        // clone lets a filter see more than clone3 does
		a.call.arg[4] = uintptr(o.by.secret) // neither CLONE_SETTLS nor CLONE_CHILD_*TID: the kernel passes it over
		id, errno = o.by.spawn(&a.call)
	} else {
		a.prepare(c.legacy, o, s)
		id, errno = vfork(&a.call)
	}
	runtime.KeepAlive(s)
	if errno != 0 {
		return 0, -1, &StepError{Step: makeProcess, Errno: syscall.Errno(errno)}
	}
	if a.call.errno != 0 {
		reapNow(int(id))
		if a.pidfd >= 0 {
			_ = unix.Close(int(a.pidfd))
		}
		return 0, -1, a.failure(s)
	}
	return int(id), int(a.pidfd), nil
}

// prepare lays out the call that clones.
func (a *attempt) prepare(legacy bool, o cloning, s *childSteps) {
	flags := uint64(sharing) | o.flags
	if o.alone {
		flags &^= unix.CLONE_VFORK
	}
	o.flags = flags
	a.call.block = ^uint64(0)
	if legacy {
		a.legacy(o)
	} else {
		a.clone3(o)
	}
	a.call.steps, a.call.left = &s.steps[0], uintptr(len(s.steps))
}

// failure says at which step a child failed.
func (a *attempt) failure(s *childSteps) error {
	return &StepError{Step: s.names[len(s.names)-int(a.call.left)], Errno: syscall.Errno(a.call.errno)}
}

func (a *attempt) clone3(o cloning) {
	a.args = cloneArgs{flags: unix.CLONE_CLEAR_SIGHAND | o.flags, exitSignal: o.signal}
	if o.flags&unix.CLONE_PIDFD != 0 {
		a.args.pidfd = uint64(uintptr(unsafe.Pointer(&a.pidfd)))
	}
	if o.cgroup >= 0 {
		a.args.flags |= unix.CLONE_INTO_CGROUP
		a.args.cgroup = uint64(o.cgroup)
	}
	a.call.trap = unix.SYS_CLONE3
	a.call.arg[0] = uintptr(unsafe.Pointer(&a.args))
	a.call.arg[1] = unsafe.Sizeof(a.args)
}

// legacy uses clone(2), which gives the pidfd in place of the parent's tid.
// Both are the third argument on all architectures here; the stack is 0, so
// that the child goes on with its parent's.
func (a *attempt) legacy(o cloning) {
	a.call.trap = unix.SYS_CLONE
	a.call.arg[0] = uintptr(o.flags | o.signal)
	a.call.arg[2] = uintptr(unsafe.Pointer(&a.pidfd))
}

// reapNow collects a child that ends before it was a program, and so without
// its parent being told by SIGCHLD.
func reapNow(pid int) {
	for {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, unix.WALL, nil); err != syscall.EINTR {
			return
		}
	}
}
