//go:build linux

package guard

import (
	"slices"

	"tipstaff/internal/paths"
)

// Changes returns the number of pinned files that have been replaced. Read it
// before making a binder, and pass it to [Guard.Join].
func (g *Guard) Changes() uint64 { return g.changes.Load() }

// Pins returns how many files, not pinned by then, were pinned in the binders of that
// time. Read it before looking for what is to be pinned; see [Guard.PinnedSince].
func (g *Guard) Pins() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pins
}

// PinnedSince reports whether such a file was pinned in one of these directories since
// Pins returned before. A binder that is made of what was found then would lack a pin.
// What goes on in other directories holds up no binder.
func (g *Guard) PinnedSince(before uint64, dirs []string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for root, last := range g.pinnedIn {
		if last > before && (paths.Within(root, dirs...) || slices.ContainsFunc(dirs, func(dir string) bool { return paths.Within(dir, root) })) {
			return true
		}
	}
	return false
}

// pinsIn notes that a file in a directory is about to be pinned.
func (g *Guard) pinsIn(root string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pinnedIn == nil {
		g.pinnedIn = map[string]uint64{}
	}
	g.pins++
	g.pinnedIn[root] = g.pins
}

// Join registers a binder. before is the value of [Guard.Changes] from before
// the binder was made. Join reports whether all files that the binder pinned
// are still in place; if not, the binder is not registered and must be made
// again.
func (g *Guard) Join(b Binder, before uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changes.Load() != before {
		return false
	}
	g.binders[b] = &joined{}
	return true
}

// Leave removes a binder. No command may be running in it.
func (g *Guard) Leave(b Binder) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.binders, b)
}

// Stale reports whether a file that the binder pinned has been replaced. A
// stale binder must be made again before another command runs in it.
func (g *Guard) Stale(b Binder) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	j := g.binders[b]
	return j != nil && j.stale
}

// joined is the state of a registered binder.
type joined struct{ stale bool }

// bind pins a file in every binder that has pinned something in this directory,
// calls exchange to move it into place, and marks the binders in which pinning
// failed as stale.
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

// cameOff records that a pinned file was replaced by another one, which is
// pinned only in the binders in bound.
func (g *Guard) cameOff(bound map[Binder]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changes.Add(1)
	for b, j := range g.binders {
		j.stale = j.stale || !bound[b]
	}
}
