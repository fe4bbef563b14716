//go:build linux && (amd64 || arm64)

package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A process whose parent ends is given to the nearest ancestor that has asked
// for it, which is the server. So it hears of descendants that a command has
// left behind, and they do not stay as zombies when they end.

func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphans collects children of the server that are not its commands.
type orphans struct {
	engine   *Engine
	children string // the directory of the threads, each with a file that lists its own; "" where the kernel has none
	main     string // the directory of the main one in it
	adopted  int    // descriptor of its file; -1 the same
	mu       sync.Mutex
	quit     chan struct{}
	done     sync.WaitGroup
}

// collectOrphans starts collecting, until stop.
func (e *Engine) collectOrphans() *orphans {
	o := &orphans{engine: e, main: strconv.Itoa(os.Getpid()), quit: make(chan struct{})}
	o.children = "/proc/" + o.main + "/task"
	var err error
	if o.adopted, err = unix.Open(filepath.Join(o.children, o.main, "children"), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		o.children, o.adopted = "", -1
	}
	o.done.Go(o.sweep)
	return o
}

// sweepPause is how long an orphan that has ended may stay. What a command
// leaves behind is collected when the command is ended; this is for what its
// descendants orphan while it runs. The signal that tells of each is not used:
// it comes with every command's own end, and waking somebody for it costs more
// than the rest of waiting.
const sweepPause = time.Second

// sweep collects now and then, as long as commands come.
func (o *orphans) sweep() {
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	seen := uint64(0)
	for {
		select {
		case <-tick.C:
		case <-o.quit:
			return
		}
		busy := false
		o.engine.live.Range(func(any, any) bool { busy = true; return false })
		if now := o.engine.counter.Load(); busy || now != seen {
			seen = now
			o.collect()
		}
	}
}

func (o *orphans) stop() {
	close(o.quit)
	o.done.Wait()
}

// close lets go of what was looked at, after stop.
func (o *orphans) close() {
	if o.adopted >= 0 {
		_ = unix.Close(o.adopted)
	}
}

// list gives the children of the server that are no commands. A child that has
// just come to be and is not noted yet looks like one; so before anybody is
// called an orphan, no child may be coming to be.
func (o *orphans) list(children func() []int) []int {
	if len(o.strangers(children())) == 0 {
		return nil
	}
	o.engine.starting.Lock()
	defer o.engine.starting.Unlock()
	return o.strangers(children())
}

// strangers gives those that are neither commands nor stand at the root of a place.
func (o *orphans) strangers(children []int) []int {
	var found []int
	for _, pid := range children {
		_, ours := o.engine.live.Load(pid)
		_, first := o.engine.firsts.Load(pid)
		if !ours && !first {
			found = append(found, pid)
		}
	}
	return found
}

// all gives the children of all threads. Orphans come to the main thread; what a
// command made a child of its own parent belongs to the thread that made the
// command.
func (o *orphans) all() []int {
	if o.children == "" {
		var pids []int
		for _, pid := range processes() {
			if _, parent, ok := stat(pid); ok && parent == os.Getpid() {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	threads, err := os.ReadDir(o.children)
	if err != nil {
		return nil
	}
	var pids []int
	for _, thread := range threads {
		pids = append(pids, o.of(thread.Name())...)
	}
	return pids
}

// ofThread gives the children of a thread and of the main one, to which they go
// when that thread ends.
func (o *orphans) ofThread(id int) []int {
	var pids []int
	if thread := strconv.Itoa(id); o.adopted >= 0 && thread != o.main {
		pids = o.of(thread)
	}
	return append(pids, o.ofMainThread()...)
}

// ofMainThread gives the children of the main thread; all of them where the
// kernel does not tell.
func (o *orphans) ofMainThread() []int {
	if o.adopted < 0 {
		return o.all()
	}
	// The kernel gives a page at once, or less where the list ends. What is longer
	// is read by a descriptor that nobody else reads by: the rest of a list that
	// has changed could begin in the middle of a number.
	var page [4 << 10]byte
	n, err := unix.Pread(o.adopted, page[:], 0)
	if err != nil || n > len(page)-len("4194304 ") {
		return o.of(o.main)
	}
	return pidsIn(page[:n])
}

// of gives the children of one thread; none if it has ended.
func (o *orphans) of(thread string) []int {
	data, _ := os.ReadFile(filepath.Join(o.children, thread, "children"))
	return pidsIn(data)
}

func pidsIn(text []byte) (pids []int) {
	for f := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(f)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// collect reaps orphans that have ended: those that carry a mark of this
// server, and where it is the first process of its namespace, all of them.
// Other children are somebody else's to wait for.
func (o *orphans) collect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.strangers(o.all())) == 0 {
		return
	}
	// Whoever becomes a command meanwhile is another's to wait for.
	o.engine.starting.Lock()
	defer o.engine.starting.Unlock()
	all := os.Getpid() == 1
	for _, pid := range o.strangers(o.all()) {
		if all || markOf(pid).of(o.engine.mark) {
			var ws unix.WaitStatus
			_, _ = unix.Wait4(pid, &ws, unix.WNOHANG, nil)
		}
	}
}

// any reports whether an orphan with the mark runs. Whatever a command has
// left behind hangs below one: its program has ended, and with it the root.
//
// One that ends while it is looked at hands its own children over, and they are
// not in the list that was read before; so a list counts only if it is that of
// the look before, in which all of them had ended. Others come and go.
func (o *orphans) any(t mark, children func() []int) bool {
	before, looked := []int(nil), false
	for {
		list := slices.DeleteFunc(o.list(children), func(pid int) bool { return markOf(pid) != t })
		if slices.ContainsFunc(list, running) {
			return true
		}
		if looked && slices.Equal(list, before) {
			return false
		}
		before, looked = list, true
	}
}
