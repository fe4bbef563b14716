//go:build linux

package guard

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
