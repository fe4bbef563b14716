//go:build linux && (amd64 || arm64)

package proc

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childSteps is what a child does before exec: a flat list of system calls,
// prepared in Go and carried out without Go. The child shares its parent's
// memory, so it must not allocate, lock or touch the stack. It makes one call
// after the other, with arguments that were prepared before.
//
// What the arguments of a step point to is on the heap, and keep holds it: a
// goroutine's stack can move, the heap does not.
type childSteps struct {
	steps []step
	names []string // of the steps, for errors
	keep  []any

	twinPID *uintptr // process id of the second process that a twin step makes; nil without one
}

// usualSteps is more than most children need. Growing the list step by step
// took one percent of a start.
const usualSteps = 32

// newChildSteps returns a list with the usual capacity.
func newChildSteps() *childSteps {
	return &childSteps{steps: make([]step, 0, usualSteps), names: make([]string, 0, usualSteps), keep: make([]any, 0, 8)}
}

// add adds a step; name is for errors. A step that fails ends the child, and nothing
// runs.
func (s *childSteps) add(name string, trap uintptr, arg ...uintptr) *step {
	st := step{trap: trap}
	copy(st.arg[:], arg)
	s.steps = append(s.steps, st)
	s.names = append(s.names, name)
	return &s.steps[len(s.steps)-1]
}

// try adds a step that may fail. Use it only for steps that no boundary depends on.
func (s *childSteps) try(name string, trap uintptr, arg ...uintptr) {
	s.add(name, trap, arg...).flags = mayFail
}

// hold keeps p alive until the child has started, and returns its address.
func hold[T any](s *childSteps, p *T) uintptr {
	s.keep = append(s.keep, p)
	return uintptr(unsafe.Pointer(p))
}

// text prepares a string for the kernel; a string with a NUL gives EINVAL.
func (s *childSteps) text(t string) (uintptr, error) {
	p, err := syscall.BytePtrFromString(t)
	if err != nil {
		return 0, err
	}
	return hold(s, p), nil
}

// texts prepares a list of strings for the kernel.
func (s *childSteps) texts(list []string) (uintptr, error) {
	p, err := syscall.SlicePtrFromStrings(list)
	if err != nil {
		return 0, err
	}
	return hold(s, &p[0]), nil
}

// makeProcess is the name of the step before all others.
const makeProcess = "make a process"

// cloneArgs is struct clone_args of clone3(2).
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// attempt is one call of clone and its result.
type attempt struct {
	call  vforkCall
	args  cloneArgs
	pidfd int32
}

// cloner knows which system call makes a child on this machine.
type cloner struct{ legacy bool }

// sharing are the flags of every clone: the child shares memory, and its parent
// waits until the child calls exec.
const sharing = unix.CLONE_VM | unix.CLONE_VFORK

// cloning says what kind of child to make.
type cloning struct {
	flags  uint64 // in addition to sharing
	cgroup int    // descriptor of the control group to start in, or -1
	signal uint64 // signal that is sent to the server when the child ends; 0: none
	alone  bool   // the server does not wait for it
	by     *zygote
}

// start clones, and the child carries out s. It returns the process id, and the pidfd
// if the flags ask for one. If a step of the child fails, start reaps the child and
// returns the [*StepError], and nothing has run. If the zygote that should clone has
// died, see salvage.
func (c cloner) start(s *childSteps, o cloning) (pid, pidfd int, err error) {
	a := &attempt{pidfd: -1}
	s.keep = append(s.keep, a)
	var id, errno uintptr
	if o.by != nil {
		o.flags |= unix.CLONE_PARENT
		a.prepare(o.cgroup < 0, o, s)        // a filter can see more of clone's arguments than of clone3's
		a.call.arg[4] = uintptr(o.by.secret) // without CLONE_SETTLS and CLONE_CHILD_*TID, the kernel ignores this argument
		id, errno = o.by.spawn(&a.call, &a.pidfd)
		if errno == uintptr(unix.ESRCH) && o.by.dead {
			return o.by.salvage(a, s)
		}
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

// prepare fills in the call that clones. All signals are blocked in between (block),
// because a handler of the server must not run in the child, which shares its memory.
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

// failure returns the error of the step at which a child failed.
func (a *attempt) failure(s *childSteps) error {
	return &StepError{Step: s.names[len(s.names)-int(a.call.left)], Errno: syscall.Errno(a.call.errno)}
}

// clone3 uses clone3(2), which puts the child into its control group before it can run.
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

// legacy uses clone(2), for kernels and sandboxes without clone3. It returns the pidfd
// through the argument for the thread id of the parent. Both are the third argument on
// the architectures here. The stack is 0, so that the child continues on that of its
// parent.
func (a *attempt) legacy(o cloning) {
	a.call.trap = unix.SYS_CLONE
	a.call.arg[0] = uintptr(o.flags | o.signal)
	a.call.arg[2] = uintptr(unsafe.Pointer(&a.pidfd))
}

// reapNow reaps a child that ended before exec; its parent gets no SIGCHLD for
// it.
func reapNow(pid int) {
	for {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, unix.WALL, nil); err != syscall.EINTR {
			return
		}
	}
}
