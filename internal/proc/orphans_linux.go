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

// A process whose parent ends gets the nearest ancestor that is a subreaper as
// its new parent, which is the server. So the server learns of descendants that
// a command has left behind, and can reap them.

func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphans reaps children of the server that are not its commands.
type orphans struct {
	engine      *Engine
	children    string // the directory of the threads, each of which has a file that lists its children; "" where the kernel lacks these files
	main        string // the directory of the main thread in it
	adopted     int    // descriptor of the main thread's file; -1 where the kernel lacks it
	endedBefore uint64 // how many commands had ended at the last sweep
	mu          sync.Mutex
	quit        chan struct{}
	done        sync.WaitGroup
}

// collectOrphans starts reaping orphans, until stop.
func (e *Engine) collectOrphans() *orphans {
	o := &orphans{engine: e, children: taskDirectory(os.Getpid()), main: strconv.Itoa(os.Getpid()), quit: make(chan struct{})}
	var err error
	if o.adopted, err = unix.Open(filepath.Join(o.children, o.main, "children"), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		o.children, o.adopted = "", -1
	}
	o.done.Go(o.sweep)
	return o
}

// sweepPause is how long an orphan that has ended may remain. Orphans of a
// command that still run are reaped when the command is ended; the sweep is for
// those that end while it runs or with it. SIGCHLD is not used: it also comes with
// the end of every command, and waking a thread for it costs more than the rest of
// waiting.
const sweepPause = time.Second

// sweep reaps orphans at intervals, as long as there are commands.
func (o *orphans) sweep() {
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-o.quit:
			return
		}
		if o.due() {
			o.collect()
		}
	}
}

// due reports whether there may be new orphans since it was called last: a command
// runs, or has ended. Only sweep calls it.
func (o *orphans) due() bool {
	busy := false
	o.engine.live.Range(func(any, any) bool { busy = true; return false })
	now := o.engine.ended.Load() // after the look at those that run: what ends between is counted
	busy, o.endedBefore = busy || now != o.endedBefore, now
	return busy
}

func (o *orphans) stop() {
	close(o.quit)
	o.done.Wait()
}

// close releases the descriptors; it is called after stop.
func (o *orphans) close() {
	if o.adopted >= 0 {
		_ = unix.Close(o.adopted)
	}
}

// list returns the children of the server that are no commands. A child that was just
// created and is not recorded yet looks like an orphan, so list looks again while none
// is being created.
func (o *orphans) list(children func() []int) []int {
	if len(o.strangers(children())) == 0 {
		return nil
	}
	o.engine.starting.Lock()
	defer o.engine.starting.Unlock()
	return o.strangers(children())
}

// strangers returns the children that are neither commands nor the first
// process of an instance.
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

// all returns the children of all threads. Orphans become children of the main
// thread. What a command made with CLONE_PARENT is a child of the thread that
// made the command.
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
	return childrenOf(o.children)
}

// ofThread returns the children of a thread and of the main thread, which
// inherits them when the thread ends.
func (o *orphans) ofThread(id int) []int {
	var pids []int
	if thread := strconv.Itoa(id); o.adopted >= 0 && thread != o.main {
		pids = o.of(thread)
	}
	return append(pids, o.ofMainThread()...)
}

// ofMainThread returns the children of the main thread, or all children if the
// kernel does not list them by thread.
func (o *orphans) ofMainThread() []int {
	if o.adopted < 0 {
		return o.all()
	}
	// The kernel returns up to a page at once. A longer list is read through a
	// separate descriptor: if the list changed between two reads, the rest
	// could begin in the middle of a number.
	var page [4 << 10]byte
	n, err := unix.Pread(o.adopted, page[:], 0)
	if err != nil || n > len(page)-len("4194304 ") {
		return o.of(o.main)
	}
	return pidsIn(page[:n])
}

// of returns the children of one thread; none if it has ended.
func (o *orphans) of(thread string) []int { return childrenOfThread(o.children, thread) }

// taskDirectory is where the threads of a process are.
func taskDirectory(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/task" }

// childrenOf returns the children of all threads in a task directory; none if the
// process has ended.
func childrenOf(tasks string) (pids []int) {
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		pids = append(pids, childrenOfThread(tasks, thread.Name())...)
	}
	return pids
}

func childrenOfThread(tasks, thread string) []int {
	data, _ := os.ReadFile(filepath.Join(tasks, thread, "children"))
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

// collect reaps orphans that have ended: those with a tag of this server, or all of
// them if the server is the first process of its PID namespace, where nobody else does.
// Other children are not for the engine to reap.
func (o *orphans) collect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.strangers(o.all())) == 0 {
		return
	}
	// A process that becomes a command meanwhile is reaped by its Process.
	o.engine.starting.Lock()
	defer o.engine.starting.Unlock()
	all := os.Getpid() == 1
	for _, pid := range o.strangers(o.all()) {
		if all || tagOf(pid).of(o.engine.tag) {
			var ws unix.WaitStatus
			_, _ = unix.Wait4(pid, &ws, unix.WNOHANG|unix.WALL, nil)
		}
	}
}

// any reports whether an orphan with the tag runs. Everything that a command has left
// behind is below an orphan, because its program, the root of its tree, has ended.
//
// An orphan that ends during the check passes its own children on, and the list that
// was read before lacks these. So a negative result counts only if two lists in a row
// agree and all their processes have ended.
func (o *orphans) any(t descendantTag, children func() []int) bool {
	before, looked := []int(nil), false
	for {
		list := slices.DeleteFunc(o.list(children), func(pid int) bool { return tagOf(pid) != t })
		if slices.ContainsFunc(list, running) {
			return true
		}
		if looked && slices.Equal(list, before) {
			return false
		}
		before, looked = list, true
	}
}
