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

// Guard protects the items that Protect registers. Its methods may be called
// concurrently.
type Guard struct {
	o        Options
	watch    *watcher
	blanks   blanks
	leases   leases
	patience time.Duration // how long a command waits for its rename

	// changes counts the pinned files that were replaced, which detaches their
	// pins.
	changes atomic.Uint64
	// pins counts the items that were pinned in place of a rescan, and pinnedIn holds
	// the last of each root. Both are guarded by mu.
	pins     uint64
	pinnedIn map[string]uint64
	// announced counts the repositories that git began to make.
	announced atomic.Uint64

	ending atomic.Bool // see End

	hooksPaths atomic.Pointer[func(value string) bool] // see AllowHooks

	mu      sync.Mutex
	items   map[string]*item
	full    map[string]bool // the directories whose items hold too much
	active  map[*Command]bool
	binders map[Binder]*joined
	closed  bool
	work    sync.WaitGroup
}

// New returns a guard without items. The caller closes it.
func New(o Options) (*Guard, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w, err := newWatcher()
	if err != nil {
		return nil, err
	}
	g := &Guard{o: o, watch: w, blanks: blanks{of: map[string]int{}}, patience: mostJudging, items: map[string]*item{}, full: map[string]bool{}, active: map[*Command]bool{}, binders: map[Binder]*joined{}}
	g.leases.start(w.wake)
	w.start(g)
	return g, nil
}

// AllowHooks sets which values of core.hooksPath commands may write. By
// default, none.
func (g *Guard) AllowHooks(allowed func(value string) bool) { g.hooksPaths.Store(&allowed) }

// Close stops watching. No command may be running.
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

// End makes a Protect that is under way stop early, because the server ends and no
// command runs any more. Close follows.
func (g *Guard) End() { g.ending.Store(true) }

// Protect registers the items in root, a directory that commands may write, and
// drops earlier items of root that are not in the list. An item that is already
// registered keeps its accepted content. Protect returns the changes that it
// put back: of a new item, only content that names no program is accepted. If the
// items hold more than is kept, none is added, and Full reports it.
func (g *Guard) Protect(root string, items []Item) []tipstaff.Violation {
	if len(items) > 0 {
		g.blanks.refill(root)
	}
	listed := map[string]bool{}
	for _, one := range items {
		listed[one.Path] = true
	}
	var found []tipstaff.Violation
	var came []string
	held := 0
	for _, one := range items {
		if g.ending.Load() {
			return found
		}
		if g.find(one.Path) == nil {
			came = append(came, one.Path)
		}
		found = append(found, g.protect(root, one)...)
		if held += g.holds(one.Path); held > mostHeld {
			break
		}
	}
	if held > mostHeld {
		for _, path := range came {
			delete(listed, path)
		}
	}
	g.mu.Lock()
	g.full[root] = held > mostHeld
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

// Full reports whether the items of one of these directories hold more than is kept to
// put them back, as of the last Protect. Then they are not protected.
func (g *Guard) Full(roots []string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(roots, func(root string) bool { return g.full[root] })
}

// holds returns how many bytes are kept of an item.
func (g *Guard) holds(path string) int {
	it := g.find(path)
	if it == nil {
		return 0
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.accepted.bytes()
}

// protect registers one item.
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

// unpinnedYet clears the accepted identity of an item that is about to be
// pinned while commands run: those commands started without the pin and may
// have changed the item. The caller holds it.mu.
func (g *Guard) unpinnedYet(it *item) {
	if len(g.suspects(it.Path)) > 0 {
		it.accepted.id = identity{}
	}
}

// Announced returns the number of repositories that git began to make while a
// command was watched. Repositories that appear otherwise are found by a rescan
// of the workspace.
func (g *Guard) Announced() uint64 { return g.announced.Load() }

func (g *Guard) find(path string) *item {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.items[path]
}

// marked watches an item in its present state. An item that cannot be watched
// is checked when a command ends.
func (g *Guard) marked(it *item, now content) []int32 {
	watches, err := g.watch.mark(it, now)
	if err != nil {
		g.o.Log.Warn("a protected file cannot be watched; it is checked when a command ends", "file", it.Path, "error", err)
	}
	return watches
}

// latePause is the time between a change of a late item and its check.
const latePause = time.Second

// changed is called when an item may have changed.
func (g *Guard) changed(it *item) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.due(it) {
		g.work.Go(func() { g.look(it) })
	}
}

// due records that an item may have changed, and reports whether the caller
// must check it. It returns false if the item is late, or if a check is under
// way, which then repeats. The caller holds g.mu.
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

// waited starts the check of a late item that has changed. The caller holds
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

// begun marks a check as started and reports whether the caller must carry it
// out. The caller holds g.mu.
func (g *Guard) begun(it *item) bool {
	if it.looking != nil || g.closed {
		it.again = true
		return false
	}
	it.looking = make(chan struct{})
	return true
}

// look settles an item until it no longer changes.
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
