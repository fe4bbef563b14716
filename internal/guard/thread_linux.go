//go:build linux

package guard

import (
	"encoding/binary"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// shortTurn is what a thread asks of the scheduler that is to be woken soon among busy
// ones, since Linux 6.12. No right is needed. Where it is not known it changes nothing.
const shortTurn = 100 * time.Microsecond

// mostInline is how long the thread that hears of changes looks at files itself, before
// another one goes on to hear.
const mostInline = 20 * time.Millisecond

// start hears of changes until close, on a thread of its own that has short turns, and
// looks at what has changed there as well: no other thread has to be woken. It does not
// wait in the runtime's poller, which busy goroutines keep from being asked.
func (w *watcher) start(g *Guard) {
	w.over.Go(func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its short turns
		_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(shortTurn)}, 0)
		// Another thread may have left something.
		for asked, soon := true, true; ; {
			pause := -1
			switch {
			case asked:
				pause = 0
			case soon:
				pause = int(leasePause.Milliseconds())
			}
			h, ok := w.wait(pause)
			if !ok || h.events && !w.inline(g, nil) {
				return
			}
			if asked = asked || h.asked; asked {
				asked, soon = g.leases.giveUp(), true
			}
			if h.events || !soon {
				continue
			}
			var list []*item
			if list, soon = g.leases.look(); len(list) > 0 && !w.inline(g, list) {
				return
			}
		}
	})
}

// heard is what the thread has waited for.
type heard struct {
	events bool
	asked  bool // for leases
}

// wait blocks until there is something, or so many milliseconds; -1: without end. false:
// the watch is over.
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

// wake makes the thread look at the leases.
func (w *watcher) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = unix.Write(w.poke, binary.NativeEndian.AppendUint64(nil, 1))
}

// inline passes on what has changed and what is heard, and looks at it. It reports whether this thread is
// still the one that hears: where a file system does not answer, another one is started.
func (w *watcher) inline(g *Guard, changed []*item) bool {
	var mu sync.Mutex
	var list []*item // that are to be looked at
	hear := func(it *item) {
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
	next := func() (it *item) {
		mu.Lock()
		defer mu.Unlock()
		if len(list) > 0 {
			it, list = list[0], list[1:]
		}
		return it
	}
	over, relieved := false, false // under mu
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
				if it := next(); it != nil { // or this thread was quicker
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
	return !relieved
}
