//go:build linux

package guard

import (
	"log/slog"
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
	blanks   blanks
	leases   leases
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
	g := &Guard{o: o, watch: w, blanks: blanks{of: map[string]int{}}, patience: mostJudging, items: map[string]*item{}, active: map[*Command]bool{}, binders: map[Binder]*joined{}}
	g.leases.start(w.wake)
	w.start(g)
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
	g.blanks.close()
	g.leases.close()
	return err
}

// Protect takes up the items in a directory that commands may write, as they are
// now, and drops those in it that are no longer among them. What is known already
// keeps the state that was accepted. It gives what it had to put back: in a new item
// nothing is accepted that names a program.
func (g *Guard) Protect(root string, items []Item) []tipstaff.Violation {
	if len(items) > 0 {
		g.blanks.refill(root)
	}
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
		g.leases.forget(it)
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
	if g.due(it) {
		g.work.Go(func() { g.look(it) })
	}
}

// due hears that something may have happened to an item, and reports whether the caller
// is to look at it: not if it is late, or a look is under way, which goes on then. The
// caller holds g.mu.
func (g *Guard) due(it *item) bool {
	if !it.Late {
		return g.begun(it)
	}
	if !it.waits {
		it.waits = true
		time.AfterFunc(latePause, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.waited(it)
		})
	}
	return false
}

// waited begins to look at a late item that something has happened to. The caller holds
// g.mu.
func (g *Guard) waited(it *item) {
	if !it.waits {
		return
	}
	it.waits = false
	if g.begun(it) {
		g.work.Go(func() { g.look(it) })
	}
}

// begun reports whether the caller is to look at an item. The caller holds g.mu.
func (g *Guard) begun(it *item) bool {
	if it.looking != nil || g.closed {
		it.again = true
		return false
	}
	it.looking = make(chan struct{})
	return true
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
