//go:build linux

package sandbox

import "fmt"

// refresh makes new walls before a command where those that stand are not of the current
// version, or where a pin has come off. The room has a user.
func (r *room) refresh() error {
	if now, _ := r.outdated(); !now {
		return nil
	}
	r.renewing.Lock()
	defer r.renewing.Unlock()
	now, must := r.outdated()
	if !now { // another command has seen to it
		return nil
	}
	err := r.renew()
	if err != nil && must {
		return fmt.Errorf("a protected file was replaced, and the sandbox could not be made anew: %w", err)
	}
	if err != nil {
		r.sandbox.o.Log.Error("cannot bring the sandbox up to date; commands are confined as before", "error", err)
	}
	return nil
}

// outdated reports whether the next command is to have new walls, and whether it must
// not run without.
func (r *room) outdated() (now, must bool) {
	v := r.constraints.current()
	r.mu.Lock()
	w := r.walls
	r.mu.Unlock()
	must = w.version.control != r.sandbox.controls.Load() || r.sandbox.guard.Stale(w.enclosure)
	return must || w.version != v || w.places.Load() > mostPlaces, must
}

// renew makes new walls for the commands that come. The caller holds r.renewing.
func (r *room) renew() error {
	v, err := r.constraints.current(), error(nil)
	if v == nil || v.control != r.sandbox.controls.Load() {
		if v, err = r.constraints.rescan(); err != nil {
			return err
		}
	}
	w, err := r.build(v)
	if err != nil {
		return err
	}
	r.mu.Lock()
	old := r.walls
	r.walls = w
	r.mu.Unlock()
	r.drop(old)
	return nil
}
