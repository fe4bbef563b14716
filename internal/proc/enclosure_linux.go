//go:build linux && (amd64 || arm64)

package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Enclosure is what commands of one kind have in common: namespaces, a filter
// of system calls, limits. It keeps instances of itself ready; one command at a
// time runs in each. Its methods may be called concurrently.
type Enclosure struct {
	engine   *Engine
	spec     EnclosureSpec
	open     bool        // it confines nothing
	enter    []namespace // descriptors of the namespaces; empty: the server's
	listener *os.File
	roots    map[string]int
	covered  map[string]int // descriptors of the directories that mounts cover, by path: see Bind

	ready    chan *place  // instances in which no process runs
	places   atomic.Int64 // how many instances there are
	mu       sync.Mutex
	ruleset  int                    // see Restrict; 0 before it is called
	eachProc func(procfs int) error // see Restrict
	gone     bool                   // closed: no instance is kept ready any more
	work     sync.WaitGroup         // goroutines that make and end instances
}

// keptReady bounds the instances that are kept for the next commands.
const keptReady = 32

// place is one instance of an enclosure, in which one command runs at a time.
// Its zygote makes the command's process. Its PID namespace, its control group
// or its mark identifies all processes of the command. If the enclosure
// confines nothing, the server makes the command's process itself, which saves
// a context switch; then the zygote only keeps the control group populated,
// because a group that becomes empty costs the kernel more.
type place struct {
	in     *Enclosure
	zygote *zygote
	asks   *listener // nil without [EnclosureSpec.Supervise]
	mark   mark
	space  *pidNamespace // nil in the server's namespaces
	cgroup *cgroup       // nil in a PID namespace without limits, and on machines without control groups
	procfs int           // descriptor of its own /proc; -1 without one
	thread int           // the thread of the server that is the command's parent
	killed bool          // killed together with its zygote, and not to be used again
}

// NewEnclosure makes an enclosure and, unless it has a Domain, its first
// instance. The error names the step that the kernel refused.
func (e *Engine) NewEnclosure(spec EnclosureSpec) (*Enclosure, error) {
	if err := spec.Group.check(e.Bounds()); err != nil {
		return nil, err
	}
	n := &Enclosure{engine: e, spec: spec, ready: make(chan *place, keptReady)}
	if spec.Namespaces != nil {
		if err := n.makeNamespaces(*spec.Namespaces); err != nil {
			return nil, err
		}
	}
	if spec.Domain != NoDomain {
		return n, nil
	}
	if err := n.makeFirst(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// Restrict sets the Landlock ruleset, by its descriptor, from which instances
// or commands enter domains of their own, and makes the first instance. The
// descriptor must stay open as long as the enclosure. Before an instance with a
// domain enters it, eachProc is called with a descriptor of the instance's
// /proc, valid during the call: rules for a directory do not apply to a mount
// that covers it, so each /proc needs rules of its own. If eachProc fails, the
// instance is not used. Restrict must be called once, before the first command,
// and only for an enclosure with a Domain.
func (n *Enclosure) Restrict(ruleset int, eachProc func(procfs int) error) error {
	n.mu.Lock()
	n.ruleset, n.eachProc = ruleset, eachProc
	n.mu.Unlock()
	return n.makeFirst()
}

// makeFirst makes the first instance.
func (n *Enclosure) makeFirst() error {
	p, err := n.newPlace()
	if err == nil {
		n.ready <- p
	}
	return err
}

// openEnclosure makes the enclosure of commands that are not confined.
func (e *Engine) openEnclosure() (*Enclosure, error) {
	e.openMu.Lock()
	defer e.openMu.Unlock()
	if e.open == nil {
		n := &Enclosure{engine: e, open: true, ready: make(chan *place, keptReady)}
		if err := n.makeFirst(); err != nil {
			return nil, err
		}
		e.open = n
	}
	return e.open, nil
}

// Close ends all processes in the enclosure and releases its resources. No
// command may be started in it afterwards.
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
	for _, fd := range n.covered {
		_ = unix.Close(fd)
	}
	if n.listener != nil {
		_ = n.listener.Close()
	}
}

// take returns an empty instance, and makes one if none is ready. Since instances
// return after use, there are soon as many as commands run at once.
func (n *Enclosure) take() (*place, error) {
	select {
	case p := <-n.ready:
		return p, nil
	default:
		return n.newPlace()
	}
}

// inBackground calls f on another goroutine, but not after Close.
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

// giveBack returns an instance after its command has ended, and keeps it for
// another one if no process is left in it. empty says that the caller has
// already checked that.
func (n *Enclosure) giveBack(p *place, empty bool) {
	if !p.killed && p.freshen() != nil {
		p.killed = true
	}
	n.mu.Lock()
	if !n.gone && !p.killed && !p.zygote.dead && (empty || !p.populated()) {
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

// newPlace makes an instance.
func (n *Enclosure) newPlace() (*place, error) {
	e := n.engine
	p := &place{in: n, mark: e.mark.command(e.counter.Add(1)), procfs: -1}
	n.places.Add(1)
	var err error
	switch {
	case n.spec.Group.given():
		p.cgroup, err = e.cgroups.bounded(n.spec.Group)
	case len(n.enter) == 0 && e.cgroups != nil:
		p.cgroup, err = e.cgroups.take()
	}
	if err == nil && len(n.enter) > 0 {
		p.space, err = n.newPIDNamespace()
	}
	if err == nil {
		err = p.hatch()
	}
	if err == nil && p.space != nil {
		err = p.openProc()
	}
	if err == nil && n.spec.Domain != NoDomain {
		err = p.restrict()
	}
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// openProc opens the /proc of an instance through its zygote.
func (p *place) openProc() error {
	fd, err := unix.Open("/proc/"+strconv.Itoa(p.zygote.pid)+"/root/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot open the /proc of a PID namespace: %w", err)
	}
	p.procfs = fd
	return nil
}

// restrict makes the zygote of an instance enter a Landlock domain. An instance
// holds one command at a time, and other instances are in other domains; so
// commands cannot affect each other. Because the zygote enters the domain, it
// costs the commands nothing.
func (p *place) restrict() error {
	n := p.in
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ruleset <= 0 {
		return errNoRuleset
	}
	if n.spec.Domain == DomainOfCommand {
		return nil
	}
	if p.procfs >= 0 {
		if err := n.eachProc(p.procfs); err != nil {
			return err
		}
	}
	return p.zygote.takeOn(enterDomain, unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(n.ruleset), 0)
}

var errNoRuleset = errors.New("an instance with a Landlock domain needs a ruleset")

// hatch makes the zygote of an instance.
func (p *place) hatch() (err error) {
	e := p.in.engine
	s, cgroup, asks := p.zygoteSteps()
	e.starting.RLock()
	defer e.starting.RUnlock()
	if p.zygote, err = e.newZygote(s, cgroup); err == nil {
		p.zygote.secret = p.in.spec.CloneSecret
	}
	if *asks > 0 && err == nil {
		p.asks, err = listen(int(*asks), p.in.spec.Supervise)
	} else if *asks > 0 {
		_ = unix.Close(int(*asks))
	}
	return err
}

// zygoteName is what ps and top show as the name; the command line is the
// server's.
var zygoteName = []byte("tipstaff-zygote\x00")

// zygoteSteps lists what a zygote sets up for all its children, and returns the
// control group that it starts in. asks is where the descriptor of the listener
// is stored, if there is one; the zygote shares the server's descriptor table.
func (p *place) zygoteSteps() (s *childSteps, cgroup int, asks *uintptr) {
	s, asks = &childSteps{}, new(uintptr)
	if p.space != nil {
		s.add("enter the namespaces", unix.SYS_SETNS, uintptr(p.space.fd), p.in.kinds())
	}
	s.add("die with the server", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	s.add("start a session", unix.SYS_SETSID)
	s.try("take a name", unix.SYS_PRCTL, unix.PR_SET_NAME, hold(s, &zygoteName[0]))
	p.common(s)
	if !p.in.open {
		s.dropCapabilities()
	}
	if !p.in.open {
		s.add("gain no privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	}
	if f := p.in.spec.Filter; len(f) > 0 {
		var flags uintptr
		if p.in.spec.Supervise != nil {
			flags = seccompNewListener | seccompWaitKillable
		}
		st := s.add(filterCalls, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, hold(s, newFilterProgram(f)))
		if flags != 0 {
			st.result = asks
			hold(s, asks)
		}
	}
	return s, p.birthGroup(p.in.engine.clone.Load().legacy), asks
}

// common adds what all commands of the instance have: the control group, unless
// they were created in it, default signals, limits, the mark.
func (p *place) common(s *childSteps) {
	e := p.in.engine
	legacy := e.clone.Load().legacy
	if p.cgroup != nil && legacy && !p.bounded() {
		s.add("enter the control group", unix.SYS_WRITE, uintptr(p.cgroup.procs), hold(s, &zero[0]), 1)
	}
	e.defaultSignals(s, legacy)
	e.limit(s, p.mark, p.in.spec.Limits)
}

// birthGroup returns the descriptor of the control group in which the zygote,
// or a process that the server makes itself, is created; -1 if there is none,
// or if clone cannot do it.
func (p *place) birthGroup(legacy bool) int {
	switch {
	case p.cgroup == nil || legacy:
		return -1
	case p.bounded():
		return p.in.engine.cgroups.zygotes.dir
	}
	return p.cgroup.dir
}

// populated reports whether a process of the command is left in the instance,
// after the command's own process has been reaped.
func (p *place) populated() bool {
	switch {
	case p.space != nil:
		return p.space.populated()
	case p.cgroup != nil && p.killed:
		return p.cgroup.populated()
	case p.cgroup != nil:
		return p.cgroup.populatedBeside(p.resident())
	}
	o := p.in.engine.orphans
	if len(p.in.spec.Filter) > 0 && p.in.spec.CloneSecret != 0 {
		return o.any(p.mark, o.ofMainThread) // the command cannot make children of its own parent
	}
	return o.any(p.mark, func() []int { return o.ofThread(p.thread) })
}

// members lists the processes of the command.
func (p *place) members() []int {
	if p.cgroup != nil {
		return without(p.cgroup.members(), p.zygote.pid)
	}
	return without(marked(func(one mark) bool { return one == p.mark }), p.zygote.pid)
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

// kill ends all processes in the instance. Where possible it does so with one
// call, which also kills the zygote.
func (p *place) kill() {
	switch {
	case p.space != nil:
		p.killed = true
		p.space.kill()
	case p.cgroup != nil:
		p.killed = true
		p.cgroup.kill()
	default:
		killMarked(func(one mark) bool { return one == p.mark }, p.zygote.pid)
	}
}

// over reports whether all killed processes are gone.
func (p *place) over() bool {
	if p.space != nil {
		return p.space.over()
	}
	return !p.populated()
}

// end kills all processes in the instance and releases its resources.
func (p *place) end() {
	e := p.in.engine
	defer p.in.places.Add(-1)
	if p.space != nil {
		p.space.end()
	}
	if p.cgroup != nil && p.zygote != nil && p.cgroup.populatedBeside(p.resident()) {
		p.killed = true
		p.cgroup.kill() // what remains waits for a device, and is killed when that answers
	}
	if p.zygote != nil {
		e.reapFirst(p.zygote.pid)
	}
	if p.asks != nil {
		p.asks.close()
	}
	if p.procfs >= 0 {
		_ = unix.Close(p.procfs)
	}
	if p.cgroup != nil {
		e.cgroups.giveBack(p.cgroup)
	}
}
