//go:build linux && (amd64 || arm64)

package proc

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Enclosure is what the commands of one kind have in common: namespaces, a
// filter of system calls, limits. It keeps places ready in which they run, one
// command in each. Its methods may be called from many goroutines at once.
type Enclosure struct {
	engine   *Engine
	spec     EnclosureSpec
	open     bool        // it confines nothing
	enter    []namespace // descriptors that hold the namespaces; none: the server's
	listener *os.File
	roots    map[string]int

	ready chan *place // nobody is in them
	mu    sync.Mutex
	each  func(procfs int) error // see EachProc
	gone  bool                   // closed: nothing is kept ready any more
	work  sync.WaitGroup         // making and ending places
}

// keptReady is how many places are kept at most for the next commands.
const keptReady = 32

// place is where one command runs at a time. Its zygote makes the command's
// process; its PID namespace, its control group or its mark holds together
// what comes of it.
type place struct {
	in     *Enclosure
	zygote *zygote
	tag    tag
	space  *pidNamespace // nil in the server's namespaces
	cell   *cell         // nil in a PID namespace, and without control groups
	procfs int           // descriptor of its own /proc, to name it; -1 without one
	killed bool          // with its zygote: it serves nobody any more
}

// NewEnclosure makes an enclosure and its first place. The error names the step
// that the machine refused.
func (e *Engine) NewEnclosure(spec EnclosureSpec) (*Enclosure, error) {
	n := &Enclosure{engine: e, spec: spec, ready: make(chan *place, keptReady)}
	if spec.Namespaces != nil {
		if err := n.makeNamespaces(*spec.Namespaces); err != nil {
			return nil, err
		}
	}
	first, err := n.newPlace()
	if err != nil {
		n.Close()
		return nil, err
	}
	n.ready <- first
	return n, nil
}

// openEnclosure makes the enclosure of commands that are not confined.
func (e *Engine) openEnclosure() (*Enclosure, error) {
	e.openMu.Lock()
	defer e.openMu.Unlock()
	if e.open == nil {
		n := &Enclosure{engine: e, open: true, ready: make(chan *place, keptReady)}
		first, err := n.newPlace()
		if err != nil {
			return nil, err
		}
		n.ready <- first
		e.open = n
	}
	return e.open, nil
}

// Close ends what runs in the enclosure and lets go of it. No command may be
// started in it then.
func (n *Enclosure) Close() {
	n.mu.Lock()
	n.gone = true
	n.mu.Unlock()
	n.work.Wait()
	for len(n.ready) > 0 {
		(<-n.ready).end()
	}
	for _, s := range n.enter {
		_ = unix.Close(s.fd)
	}
	for _, fd := range n.roots {
		_ = unix.Close(fd)
	}
	if n.listener != nil {
		_ = n.listener.Close()
	}
}

// take gives a place that nobody is in.
func (n *Enclosure) take() (*place, error) {
	select {
	case p := <-n.ready:
		n.refill()
		return p, nil
	default:
		return n.newPlace()
	}
}

// refill keeps one ready, behind the call that took the last one. As those come
// back that are in use, there are as many soon as commands run at once, and one
// more.
func (n *Enclosure) refill() {
	if len(n.ready) > 0 {
		return
	}
	n.inBackground(func() {
		if p, err := n.newPlace(); err == nil {
			n.giveBack(p)
		}
		// An error comes again to whoever needs a place and finds none.
	})
}

// inBackground does f behind the calls, but not after Close.
func (n *Enclosure) inBackground(f func()) {
	n.mu.Lock()
	late := n.gone
	if !late {
		n.work.Go(f)
	}
	n.mu.Unlock()
	if late {
		f()
	}
}

// giveBack takes a place back: for another command if it is empty as it should be.
func (n *Enclosure) giveBack(p *place) {
	n.mu.Lock()
	if !n.gone && !p.killed && !p.zygote.dead && !p.populated() {
		select {
		case n.ready <- p:
			n.mu.Unlock()
			return
		default:
		}
	}
	n.mu.Unlock()
	n.inBackground(p.end)
}

// newPlace makes a place.
func (n *Enclosure) newPlace() (*place, error) {
	e := n.engine
	p := &place{in: n, tag: e.mark.command(e.counter.Add(1)), procfs: -1}
	var err error
	switch {
	case len(n.enter) > 0:
		p.space, err = n.newPIDNamespace()
	case e.cells != nil:
		p.cell, err = e.cells.take()
	}
	if err == nil {
		err = p.hatch()
	}
	if err == nil && p.space != nil {
		err = p.openProc()
	}
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// EachProc lets f know of the /proc of every place, by a descriptor that is good
// for the time of the call: of those that there are, and of each that is made,
// before a command runs in it. An error means that none does. It is for rules
// that go by file: where a mount covers another, what is allowed for the one
// below does not count. f is not called by two at once.
func (n *Enclosure) EachProc(f func(procfs int) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.each = f
	for range len(n.ready) {
		p := <-n.ready
		n.ready <- p
		if p.procfs >= 0 {
			if err := f(p.procfs); err != nil {
				return err
			}
		}
	}
	return nil
}

// openProc opens the /proc of a place by way of its zygote, which has it as its
// own.
func (p *place) openProc() error {
	fd, err := unix.Open("/proc/"+strconv.Itoa(p.zygote.pid)+"/root/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot open the /proc of a PID namespace: %w", err)
	}
	p.procfs = fd
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.in.each == nil {
		return nil
	}
	return p.in.each(fd)
}

// hatch makes the zygote of a place.
func (p *place) hatch() (err error) {
	e := p.in.engine
	s, cgroup := p.zygoteScript()
	e.starting.RLock()
	defer e.starting.RUnlock()
	p.zygote, err = e.newZygote(s, cgroup)
	return err
}

// zygoteName is what ps and top show; the command line is the server's.
var zygoteName = []byte("tipstaff-zygote\x00")

// zygoteScript lists what a zygote takes on, for all its children, and the
// control group that it starts in.
func (p *place) zygoteScript() (*script, int) {
	e := p.in.engine
	s, cgroup := &script{}, -1
	legacy := e.clone.Load().legacy
	if p.space != nil {
		s.add("enter the namespaces", unix.SYS_SETNS, uintptr(p.space.fd), p.in.kinds())
	}
	if p.cell != nil {
		cgroup = p.cell.dir
		if legacy {
			s.add("enter the control group", unix.SYS_WRITE, uintptr(p.cell.procs), hold(s, &zero[0]), 1)
		}
	}
	s.add("start a session", unix.SYS_SETSID)
	s.try("take a name", unix.SYS_PRCTL, unix.PR_SET_NAME, hold(s, &zygoteName[0]))
	e.defaultSignals(s, legacy)
	e.limit(s, p.tag, p.in.spec.Limits)
	if !p.in.open {
		s.dropCapabilities()
	}
	s.add("die with the server", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	if !p.in.open {
		s.add("gain no privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	}
	if f := p.in.spec.Filter; len(f) > 0 {
		s.add("filter system calls", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, hold(s, newFilterProgram(f)))
	}
	return s, cgroup
}

// populated reports whether anything of the command is left in the place, after
// its own process has been reaped.
func (p *place) populated() bool {
	switch {
	case p.space != nil:
		return p.space.populated()
	case p.cell != nil && p.killed:
		return p.cell.populated()
	case p.cell != nil:
		return p.cell.populatedBeside(p.zygote.pid)
	default:
		return p.in.engine.orphans.any(p.tag)
	}
}

// members lists the processes of the command.
func (p *place) members() []int {
	if p.cell != nil {
		return without(p.cell.members(), p.zygote.pid)
	}
	return without(marked(func(t tag) bool { return t == p.tag }), p.zygote.pid)
}

func without(pids []int, one int) []int {
	kept := pids[:0]
	for _, pid := range pids {
		if pid != one {
			kept = append(kept, pid)
		}
	}
	return kept
}

// kill ends everything in the place. Where it can, it does so with one call,
// and the zygote goes as well.
func (p *place) kill() {
	switch {
	case p.space != nil:
		p.killed = true
		p.space.kill()
	case p.cell != nil:
		p.killed = true
		p.cell.kill()
	default:
		killMarked(func(t tag) bool { return t == p.tag }, p.zygote.pid)
	}
}

// over reports whether nothing is left of what was killed.
func (p *place) over() bool {
	if p.space != nil {
		return p.space.over()
	}
	return !p.populated()
}

// end ends the place with what is in it, and lets go of it.
func (p *place) end() {
	e := p.in.engine
	if p.space != nil {
		p.space.end()
	}
	if p.cell != nil && p.zygote != nil && p.cell.populatedBeside(p.zygote.pid) {
		p.kill() // what is left waits for a device, and dies in here
	}
	if p.zygote != nil {
		e.reapFirst(p.zygote.pid)
	}
	if p.procfs >= 0 {
		_ = unix.Close(p.procfs)
	}
	if p.cell != nil {
		e.cells.giveBack(p.cell)
	}
}
