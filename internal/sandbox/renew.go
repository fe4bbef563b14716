//go:build linux

package sandbox

import "fmt"

// refresh makes new layers before a command if the present ones are not of the
// current version, or if a pin has come off. What waits in the old ones is made again in
// the new ones if no call is held up by that (behind). The session sandbox has a user.
func (sess *sessionSandbox) refresh(behind bool) error {
	if now, _ := sess.outdated(); !now {
		return nil
	}
	sess.renewing.Lock()
	defer sess.renewing.Unlock()
	now, must := sess.outdated()
	if !now { // another command has done it
		return nil
	}
	err := sess.renew(behind)
	if err != nil && must {
		return fmt.Errorf("a protected file was replaced, and the sandbox could not be made anew: %w", err)
	}
	if err != nil {
		sess.sandbox.o.Log.Error("cannot bring the sandbox up to date; commands are confined as before", "error", err)
	}
	return nil
}

// outdated reports whether the next command needs new layers (now), and whether it
// must not run without them (must).
func (sess *sessionSandbox) outdated() (now, must bool) {
	v := sess.constraints.current()
	sess.mu.Lock()
	l := sess.layers
	sess.mu.Unlock()
	must = l.version.control != sess.sandbox.controls.Load() || sess.sandbox.guard.Stale(l.enclosure)
	return must || l.version != v || l.instances.Load() > mostInstances, must
}

// renew makes new layers for the next commands. The caller holds sess.renewing.
func (sess *sessionSandbox) renew(behind bool) error {
	v := sess.constraints.current()
	if v == nil || v.control != sess.sandbox.controls.Load() {
		var err error
		if v, err = sess.constraints.rescan(); err != nil {
			return err
		}
	}
	l, err := sess.build(v)
	if err != nil {
		return sess.sandbox.scratch.explainFull(err)
	}
	sess.mu.Lock()
	old := sess.layers
	sess.layers = l
	sess.mu.Unlock()
	if behind {
		sess.keepAgain(old)
	}
	sess.drop(old)
	return nil
}
