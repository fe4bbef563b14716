//go:build linux

package guard

import (
	"encoding/binary"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// shortTurn is the time slice that the thread asks for (Linux 6.12), so that it
// is woken soon beside busy threads. It needs no privilege; older kernels
// ignore it.
const shortTurn = 100 * time.Microsecond

// mostInline is how long the thread that receives events may check files itself
// before another thread takes over receiving.
const mostInline = 20 * time.Millisecond

// start receives events until close, on a locked thread with short time slices.
// It checks changed items on the same thread, so that no other thread has to be
// woken. It waits outside of the runtime's poller, which is not polled while
// all processors are busy with goroutines.
func (w *watcher) start(g *Guard) {
	w.over.Go(func() {
		// The thread goes back to the runtime as it was. If it ended here, the kernel
		// would kill each zygote that was made on it earlier: they die with the
		// thread that made them.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		setSlice(shortTurn)
		defer setSlice(0)
		// The previous thread may have left events unread.
		asked, soon := true, true
		var looked time.Time // at the leases
		var n noise
		for {
			pause := -1
			switch {
			case asked:
				pause = 0
			case soon:
				pause = int(leasePause.Milliseconds())
			}
			h, ok := w.wait(pause)
			if !ok {
				return
			}
			if h.events {
				counted, on := w.inline(g, nil)
				if !on {
					return
				}
				if n.note(!counted) {
					w.nap()
				}
			}
			if asked = asked || h.asked; asked {
				asked, soon = g.leases.giveUp(), true
			}
			if !soon || h.events && time.Since(looked) < leasePause {
				continue
			}
			var list []*item
			list, soon = g.leases.look()
			looked = time.Now()
			if len(list) > 0 {
				if _, on := w.inline(g, list); !on {
					return
				}
			}
		}
	})
}

// noise counts events in a row that concern no item: a checkout of many files makes
// one or two for each. Waking for each of them would slow the checkout down.
type noise struct {
	n    int
	last time.Time
}

const (
	// mostNoise is how many times in a row the thread wakes for nothing before it
	// lets events gather.
	mostNoise = 8
	// noisePause ends a row.
	noisePause = 10 * time.Millisecond
	// gathering is for how long events gather then. A change of an item in the
	// midst of noise is seen that much later.
	gathering = 500 * time.Microsecond
)

// note reports whether the thread should let events gather.
func (n *noise) note(nothing bool) bool {
	now := time.Now()
	if !nothing || now.Sub(n.last) > noisePause {
		n.n = 0
	}
	n.last = now
	n.n++
	return n.n > mostNoise
}

// nap lets events gather.
func (w *watcher) nap() {
	_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(w.stop), Events: unix.POLLIN}}, &unix.Timespec{Nsec: gathering.Nanoseconds()}, nil)
}

// setSlice asks for a time slice for this thread; 0: the usual one.
func setSlice(d time.Duration) {
	attr, err := unix.SchedGetAttr(0, 0) // for the policy and the nice value, which stay
	if err == nil {
		attr.Runtime = uint64(d)
		_ = unix.SchedSetAttr(0, attr, 0)
	}
}

// heard is what the thread was woken by.
type heard struct {
	events bool
	asked  bool // wake was called: check the leases
}

// wait blocks until there is an event, or for pause milliseconds; -1 means
// without a limit. ok is false when the watch has ended.
func (w *watcher) wait(pause int) (h heard, ok bool) {
	fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}, {Fd: int32(w.poke), Events: unix.POLLIN}, {Fd: int32(w.stop), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, pause)
		if err == unix.EINTR {
			continue
		}
		if err != nil || fds[2].Revents != 0 {
			return h, false
		}
		if h.asked = fds[1].Revents != 0; h.asked {
			_, _ = unix.Read(w.poke, make([]byte, 8))
		}
		h.events = fds[0].Revents != 0
		return h, true
	}
}

// wake makes the thread check the leases.
func (w *watcher) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = unix.Write(w.poke, binary.NativeEndian.AppendUint64(nil, 1))
}

// inline reports changes and pending events to the guard, and checks the
// changed items. counted reports whether any item was concerned; on, whether
// this thread still receives events: if a file system does not answer within
// mostInline, another thread takes over.
func (w *watcher) inline(g *Guard, changed []*item) (counted, on bool) {
	var mu sync.Mutex
	var list []*item // to be checked
	hear := func(it *item) {
		counted = true
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.due(it) {
			list = append(list, it)
		}
	}
	for _, it := range changed {
		hear(it)
	}
	w.pass(hear)
	if len(list) == 0 {
		return counted, true
	}
	next := func() (it *item) {
		mu.Lock()
		defer mu.Unlock()
		if len(list) > 0 {
			it, list = list[0], list[1:]
		}
		return it
	}
	over, relieved := false, false // guarded by mu
	deputy := time.AfterFunc(mostInline, func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		relieved = true
		w.start(g)
		for range list {
			g.work.Go(func() {
				if it := next(); it != nil { // unless this thread was faster
					g.look(it)
				}
			})
		}
	})
	for it := next(); it != nil; it = next() {
		g.look(it)
	}
	deputy.Stop()
	mu.Lock()
	defer mu.Unlock()
	over = true
	return counted, !relieved
}
