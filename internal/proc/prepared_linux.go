//go:build linux && (amd64 || arm64)

package proc

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// prepared is a child that a zygote has made before there is a command for it.
// It has done what is the same for all commands of its place, shares the
// server's memory and descriptors, and waits for the rest of its script. So a
// call waits neither for the kernel to make a process nor for a Landlock domain,
// and the next one is made behind the call. It becomes one command; nobody but
// that command is ever in its domain.
type prepared struct {
	order   order
	zygote  *zygote
	script  *script // what it does before it waits
	attempt *attempt
}

// order is where a prepared child waits. The assembly knows its layout.
type order struct {
	state uint32 // a futex: ordered, taken, or 0
	// unfinished is 1 until the child has another program or has ended. The
	// kernel clears it and wakes who waits: set_tid_address(2).
	unfinished uint32
	steps      *step   // what the child does next
	left       uintptr // how many there are
	// parent is the process id of its parent as the child sees it. If the server
	// died before the child had asked to die with it, nobody would ever tell.
	parent uintptr
}

// States of an order.
const (
	ordered = 1
	taken   = 2 // the child has read the order
)

// awaitingOrders is how the wait is called in errors.
const awaitingOrders = "wait for a command"

// prepare lets the zygote of a place that nobody is in make a child for its next
// command. It does not wait for it: a child that could not be made is noticed by
// whoever wants to use it.
func (p *place) prepare() {
	e := p.in.engine
	if !e.slots.unshares || p.zygote.next.Load() != nil || p.memoryBound() {
		return
	}
	s := newScript()
	n := &prepared{zygote: p.zygote, script: s, attempt: &attempt{pidfd: -1}}
	n.order.unfinished = 1
	if p.space == nil {
		n.order.parent = uintptr(os.Getpid()) // else 0: it cannot see the server
	}
	s.add("tell when it is another program", unix.SYS_SET_TID_ADDRESS, uintptr(unsafe.Pointer(&n.order.unfinished)))
	p.begin(s)
	s.add(awaitingOrders, 0, uintptr(unsafe.Pointer(&n.order))).flags = awaits
	a := n.attempt
	a.prepare(p.born() < 0, cloning{flags: unix.CLONE_PIDFD | unix.CLONE_FILES | unix.CLONE_PARENT, cgroup: p.born(), alone: true}, s)
	a.call.arg[4] = uintptr(p.zygote.secret)
	if !p.zygote.await() {
		return
	}
	p.zygote.next.Store(n)
	atomic.StoreUintptr(&p.zygote.post.pid, 0)
	p.zygote.order(&a.call)
	e.prepared.note(n)
}

// prepared gives the child that is ready for a command of the place; nil if
// there is none.
func (p *place) prepared() *prepared {
	n := p.zygote.next.Swap(nil)
	if n == nil {
		return nil
	}
	if !p.zygote.await() || !n.born() || atomic.LoadUint32(&n.order.unfinished) == 0 {
		n.end()
		return nil // if one cannot be made, to make one now will say why
	}
	return n
}

// pid is the process id of a child that is the last one that its zygote has made.
func (n *prepared) pid() int {
	if id := atomic.LoadUintptr(&n.zygote.post.pid); id < ^uintptr(4095) {
		return int(id)
	}
	return 0
}

// born reports whether there is a child.
func (n *prepared) born() bool { return atomic.LoadInt32(&n.attempt.pidfd) >= 0 }

// launch lets the child carry out s, with which it becomes a command. done is
// false if it had ended before: nothing has happened then.
func (n *prepared) launch(s *script, pid int) (done bool, err error) {
	n.order.steps, n.order.left = &s.steps[0], uintptr(len(s.steps))
	n.give()
	patience := unix.NsecToTimespec(zygotePatience.Nanoseconds())
	for limit := time.Now().Add(zygoteLimit); atomic.LoadUint32(&n.order.unfinished) != 0; {
		_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&n.order.unfinished)), futexWaitShared, 1, uintptr(unsafe.Pointer(&patience)), 0, 0)
		if errno != unix.ETIMEDOUT {
			continue
		}
		if !running(pid) {
			break // somebody has killed it before it had asked to be told of
		}
		if time.Now().After(limit) {
			n.signal() // somebody has stopped it
		}
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(n)
	switch {
	case atomic.LoadUint32(&n.order.state) != taken:
		n.collect()
		return false, nil
	case atomic.LoadUintptr(&n.attempt.call.errno) != 0:
		n.collect()
		return true, n.attempt.failure(s)
	default:
		return true, nil
	}
}

// give gives the child its order, which is there.
func (n *prepared) give() {
	atomic.StoreUint32(&n.order.state, ordered)
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&n.order.state)), futexWake, 1, 0, 0, 0)
}

// end ends a child that no command needs, and collects it: its order is to do
// nothing more. The zygote has made it, or never will.
func (n *prepared) end() {
	if n.born() {
		n.give()
		n.signal()
		n.collect()
	}
	runtime.KeepAlive(n)
}

func (n *prepared) signal() {
	_ = unix.PidfdSendSignal(int(n.attempt.pidfd), unix.SIGKILL, nil, 0)
}

// collect waits for the end of the child and lets go of it. Somebody else may
// have collected it before.
func (n *prepared) collect() {
	for unix.Waitid(unix.P_PIDFD, int(n.attempt.pidfd), nil, unix.WEXITED|unix.WALL, nil) == unix.EINTR {
	}
	_ = unix.Close(int(n.attempt.pidfd))
}

// keptPrepared is how many children are kept that wait, at most: more sessions
// than that do not all need one at once.
const keptPrepared = 64

// preparedChildren are those that an engine has had made last.
type preparedChildren struct {
	mu   sync.Mutex
	last [keptPrepared]*prepared
	at   int
}

// note takes one more, and ends the one that has waited longest if there are too
// many.
func (c *preparedChildren) note(n *prepared) {
	c.mu.Lock()
	oldest := c.last[c.at]
	c.last[c.at] = n
	c.at = (c.at + 1) % keptPrepared
	c.mu.Unlock()
	if oldest != nil && oldest.born() && oldest.zygote.next.CompareAndSwap(oldest, nil) {
		oldest.end()
	}
}

// has reports whether a process is one of them.
func (c *preparedChildren) has(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.last {
		if n != nil && n.zygote.next.Load() == n && n.pid() == pid {
			return true
		}
	}
	return false
}
