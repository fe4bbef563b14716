//go:build linux

package guard

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tipstaff"
)

// Guard protects the items that it has been told of. Its methods may be called from
// many goroutines at once.
type Guard struct {
	o        Options
	watch    *watcher
	patience time.Duration // of a command that waits for its rename

	// changes counts the pinned files that were replaced: their pins have come off.
	changes atomic.Uint64
	// announced counts the repositories that git was about to make.
	announced atomic.Uint64

	hooksPaths atomic.Pointer[func(value string) bool] // see AllowHooks

	mu      sync.Mutex
	items   map[string]*item
	active  map[*Command]bool
	binders map[Binder]*joined
	closed  bool
	work    sync.WaitGroup
}

// New makes a guard of nothing.
func New(o Options) (*Guard, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w, err := newWatcher()
	if err != nil {
		return nil, err
	}
	g := &Guard{o: o, watch: w, patience: mostJudging, items: map[string]*item{}, active: map[*Command]bool{}, binders: map[Binder]*joined{}}
	w.start(g.changed)
	return g, nil
}

// AllowHooks says which values of core.hooksPath commands may set; before, none.
func (g *Guard) AllowHooks(allowed func(value string) bool) { g.hooksPaths.Store(&allowed) }

// Close ends the watch. No command may run then.
func (g *Guard) Close() error {
	err := g.watch.close()
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.work.Wait()
	return err
}

// Protect takes up the items in a directory that commands may write, as they are
// now, and drops those in it that are no longer among them. What is known already
// keeps the state that was accepted. It gives what it had to put back: in a new item
// nothing is accepted that names a program.
func (g *Guard) Protect(root string, items []Item) []tipstaff.Violation {
	listed := map[string]bool{}
	var found []tipstaff.Violation
	for _, one := range items {
		listed[one.Path] = true
		found = append(found, g.protect(root, one)...)
	}
	g.mu.Lock()
	var gone []*item
	for path, it := range g.items {
		if it.root == root && !listed[path] {
			gone = append(gone, it)
			delete(g.items, path)
		}
	}
	g.mu.Unlock()
	for _, it := range gone {
		g.watch.forget(it)
	}
	return found
}

// protect takes up one item.
func (g *Guard) protect(root string, one Item) []tipstaff.Violation {
	g.mu.Lock()
	it, known := g.items[one.Path]
	if !known {
		it = &item{Item: one, root: root}
		it.mu.Lock()
		g.items[one.Path] = it
	}
	g.mu.Unlock()
	if known {
		it.mu.Lock()
		defer it.mu.Unlock()
		pinnedLater := one.Pinned && !it.Pinned
		it.Item.Pinned, it.Item.Stage, it.Item.Why = one.Pinned, one.Stage, one.Why
		if pinnedLater {
			g.unpinnedYet(it)
		}
		return nil
	}
	defer it.mu.Unlock()
	now := g.see(it)
	it.noteLinks(now)
	if !one.New {
		it.accepted = now
		if one.Pinned {
			g.unpinnedYet(it)
		}
		return nil
	}
	return g.admit(it, now)
}

// unpinnedYet makes a change of an item that is about to be pinned count as one that a
// command may have made, if commands run: those have begun without the pin. The caller
// holds it.mu.
func (g *Guard) unpinnedYet(it *item) {
	if len(g.suspects(it.Path)) > 0 {
		it.accepted.id = identity{}
	}
}

// Announced counts the repositories that git has begun to make since the guard is
// there. A look through the workspace finds the rest of them.
func (g *Guard) Announced() uint64 { return g.announced.Load() }

func (g *Guard) find(path string) *item {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.items[path]
}

// marked watches an item as it is now. What cannot be watched is looked at when a
// command ends.
func (g *Guard) marked(it *item, now content) []int32 {
	watches, err := g.watch.mark(it, now)
	if err != nil {
		g.o.Log.Warn("a file that steers others cannot be watched; it is looked at when a command ends", "file", it.Path, "error", err)
	}
	return watches
}

// latePause is how long after a change a late item is looked at.
const latePause = time.Second

// changed hears that something may have happened to an item.
func (g *Guard) changed(it *item) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !it.Late {
		g.begin(it)
		return
	}
	if !it.waits {
		it.waits = true
		time.AfterFunc(latePause, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.due(it)
		})
	}
}

// due begins to look at a late item that something has happened to. The caller holds
// g.mu.
func (g *Guard) due(it *item) {
	if it.waits {
		it.waits = false
		g.begin(it)
	}
}

// begin begins to look at an item. The caller holds g.mu.
func (g *Guard) begin(it *item) {
	if it.looking != nil || g.closed {
		it.again = true
		return
	}
	it.looking = make(chan struct{})
	g.work.Go(func() { g.look(it) })
}

// look settles an item until nothing more has happened to it.
func (g *Guard) look(it *item) {
	for {
		g.settle(it)
		g.mu.Lock()
		if !it.again || g.closed {
			close(it.looking)
			it.looking = nil
			g.mu.Unlock()
			return
		}
		it.again = false
		g.mu.Unlock()
	}
}

// Command is one that runs, and may write in some directories.
type Command struct {
	guard    *Guard
	writable []string
	stop     func()

	found []tipstaff.Violation // under Guard.mu
	mild  map[*item]int        // how often it was suspected of a mild change of an item, likewise
	over  bool                 // there is nothing left to stop, likewise
}

// Begin says that a command is about to run which may write in these directories.
// stop is called when it may have made a change that is put back; it must end the
// command, and wait for nothing. What a person has changed before is settled first.
func (g *Guard) Begin(writable []string, stop func()) *Command {
	g.settled(writable)
	c := &Command{guard: g, writable: writable, stop: stop}
	g.mu.Lock()
	g.active[c] = true
	g.mu.Unlock()
	return c
}

// End says that nothing of the command is left, and gives the changes that were put
// back while it ran. What it has changed is settled first; where that takes too long,
// the command stays a suspect until it is.
func (c *Command) End() []tipstaff.Violation {
	g := c.guard
	looking := g.settled(c.writable)
	g.mu.Lock()
	defer g.mu.Unlock()
	c.over = true
	if looking == nil || g.closed {
		delete(g.active, c)
		return c.found
	}
	g.work.Go(func() {
		for ; looking != nil; looking = g.lookingIn(c.writable) {
			<-looking
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.active, c)
	})
	return slices.Clone(c.found)
}

// mostPatience is how long the beginning and the end of a command wait for a file
// system that does not answer.
const mostPatience = 2 * time.Second

// settled waits until all that has happened in these directories is judged. It gives a
// look that is not over in time.
func (g *Guard) settled(dirs []string) (late chan struct{}) {
	g.watch.drain(g.changed)
	looking := g.lookingIn(dirs)
	if looking == nil {
		return nil
	}
	patience := time.NewTimer(mostPatience)
	defer patience.Stop()
	for ; looking != nil; looking = g.lookingIn(dirs) {
		select {
		case <-looking:
		case <-patience.C:
			g.o.Log.Error("files that steer others could not be looked at in time", "directories", dirs)
			return looking
		}
	}
	return nil
}

func (g *Guard) lookingIn(dirs []string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	for path, it := range g.items {
		if !it.waits && it.looking == nil || !under(path, dirs) {
			continue
		}
		if g.due(it); it.looking != nil {
			return it.looking
		}
	}
	return nil
}

// suspects are the commands that could have changed a path.
func (g *Guard) suspects(path string) (list []*Command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.active {
		if under(path, c.writable) {
			list = append(list, c)
		}
	}
	return list
}

// report tells of a violation the commands that could have done it, and ends them: at
// once, unless it is mild or may be a person's own, else when it comes again and again.
func (g *Guard) report(it *item, v tipstaff.Violation, suspects []*Command, ends bool) tipstaff.Violation {
	var ending []*Command
	switch {
	case it.Mild, !ends:
		ending = g.again(it, suspects)
	default:
		ending = suspects
	}
	ending = g.alive(ending)
	v.Ended = len(ending) > 0
	for _, c := range ending {
		c.stop()
	}
	g.mu.Lock()
	for _, c := range suspects {
		c.tell(v)
	}
	g.mu.Unlock()
	g.o.Log.Warn("a change of a file that steers others was put back", "file", v.Path, "why", v.Why, "aside", v.Aside, "fault", v.Fault, "commands", len(suspects), "ended", v.Ended)
	return v
}

func (g *Guard) alive(list []*Command) []*Command {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(list), func(c *Command) bool { return c.over })
}

// mostTold is how many violations a command is told of.
const mostTold = 8

// tell keeps a violation for the answer: of those of one path the first, which names
// what was kept. The caller holds Guard.mu.
func (c *Command) tell(v tipstaff.Violation) {
	i := slices.IndexFunc(c.found, func(w tipstaff.Violation) bool { return w.Path == v.Path })
	switch {
	case i >= 0:
		known := &c.found[i]
		known.Ended, known.Fault = known.Ended || v.Ended, v.Fault // of the last attempt
		if known.Aside == "" {
			known.Aside = v.Aside
		}
	case len(c.found) < mostTold:
		c.found = append(c.found, v)
	}
}

// mildTimes is how often a command may be suspected of a mild change: a program that
// writes a file anew does so in a few steps, and a person who saves a pinned file that
// names a program does so once or twice, not whenever a command has waited for it.
const mildTimes = 4

// again gives the commands that were suspected of mild changes of an item too often.
func (g *Guard) again(it *item, suspects []*Command) (list []*Command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range suspects {
		if c.mild == nil {
			c.mild = map[*item]int{}
		}
		if c.mild[it]++; c.mild[it] > mildTimes {
			list = append(list, c)
		}
	}
	return list
}

// Changes counts the pinned files that were replaced. It is asked before a binder
// is made; see [Guard.Join].
func (g *Guard) Changes() uint64 { return g.changes.Load() }

// Join takes in a binder that was made since [Guard.Changes] gave before. It reports
// whether what the binder has pinned is still there: if not, it has to be made anew,
// and is not taken in.
func (g *Guard) Join(b Binder, before uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changes.Load() != before {
		return false
	}
	g.binders[b] = &joined{}
	return true
}

// Leave takes a binder out. No command of it may run then.
func (g *Guard) Leave(b Binder) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.binders, b)
}

// Stale reports whether a pin of the binder has come off: it has to be made anew
// before another command runs in it.
func (g *Guard) Stale(b Binder) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	j := g.binders[b]
	return j != nil && j.stale
}

// joined is what is known of a binder that was taken in.
type joined struct{ stale bool }

// bind pins a file in every binder that has pinned something in this directory, lets
// exchange put it in its place, and notes which binders have missed it.
func (g *Guard) bind(stage, name string, exchange func() error) error {
	bound := map[Binder]bool{}
	for _, b := range g.joinedNow() {
		bound[b] = b.Bind(stage, name) == nil
	}
	err := exchange()
	if err == nil {
		g.cameOff(bound)
	}
	return err
}

func (g *Guard) joinedNow() (list []Binder) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for b := range g.binders {
		list = append(list, b)
	}
	return list
}

// cameOff notes that a pinned file was replaced by another one, which only these
// binders have pinned.
func (g *Guard) cameOff(bound map[Binder]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changes.Add(1)
	for b, j := range g.binders {
		j.stale = j.stale || !bound[b]
	}
}
