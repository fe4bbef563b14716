//go:build linux

package sandbox

import (
	"fmt"
	"time"

	"tipstaff/internal/profile"
)

// lookPause is the least time between two looks at what has changed, as far as
// a look does not take long.
const lookPause = 2 * time.Second

// lookAgain looks, behind the calls, whether the walls still stand where they
// should: commands make repositories, people make keys. If not, new ones are
// made for the commands that come; those that run keep theirs. It is asked for
// whenever a command leaves, and what the last one did is looked at as soon as
// the pause is over. Where git has announced a repository, there is hardly a pause.
func (r *room) lookAgain() {
	news := r.sandbox.guard.Announced()
	r.mu.Lock()
	defer r.mu.Unlock()
	pause := max(lookPause, 50*r.cost)
	if news != r.news {
		pause = 4 * r.cost
	}
	pause -= time.Since(r.looked)
	switch {
	case r.gone, r.doomed, r.walls == nil:
	case r.looking:
		r.again = true
	case pause <= 0:
		r.looking = true
		r.users++ // it stays until the look is over
		r.sandbox.inBackground(r.look)
	case !r.waiting:
		r.waiting = true
		time.AfterFunc(pause, r.lookLater)
	}
}

// lookLater looks after a pause, unless all is over by then.
func (r *room) lookLater() {
	r.mu.Lock()
	r.waiting = false
	r.mu.Unlock()
	r.sandbox.behind(r.lookAgain)
}

// refresh makes new walls before a command where a pin of those that stand has come
// off. The room has a user.
func (r *room) refresh() error {
	if !r.stale() {
		return nil
	}
	r.lookMu.Lock()
	defer r.lookMu.Unlock()
	if !r.stale() { // another command has seen to it
		return nil
	}
	control := r.sandbox.controls.Load()
	paths, err := r.sandbox.resolve(r)
	if err == nil {
		err = r.renew(paths, control)
	}
	if err != nil {
		return fmt.Errorf("a protected file was replaced, and the sandbox could not be made anew: %w", err)
	}
	return nil
}

func (r *room) stale() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.control != r.sandbox.controls.Load() || r.sandbox.guard.Stale(r.walls.enclosure)
}

// mostPlaces is how many places may have come and gone before the ruleset, which
// has a rule for each, is made anew.
const mostPlaces = 256

// look is a look behind the calls, for which the room has a user.
func (r *room) look() {
	r.lookMu.Lock()
	r.bringUpToDate()
	r.lookMu.Unlock()
	r.mu.Lock()
	r.looking = false
	r.users--
	over, again := r.users == 0 && r.doomed, r.again
	r.again = false
	r.mu.Unlock()
	if over {
		r.close()
	} else if again {
		r.lookAgain()
	}
}

// bringUpToDate makes new walls if those that stand are not what the profile says
// now. The caller holds r.lookMu.
func (r *room) bringUpToDate() {
	began, news, control := time.Now(), r.sandbox.guard.Announced(), r.sandbox.controls.Load()
	paths, err := r.sandbox.resolve(r)
	r.mu.Lock()
	old := r.walls
	r.mu.Unlock()
	if err == nil && (!paths.Equal(old.paths) || !old.paths.Fresh() || !old.allowed.Fresh() || old.places.Load() > mostPlaces || r.stale()) {
		err = r.renew(paths, control)
	}
	if err != nil {
		r.sandbox.o.Log.Error("cannot bring the sandbox up to date; commands are confined as before", "error", err)
	}
	r.mu.Lock()
	r.looked, r.cost, r.news = time.Now(), time.Since(began), news
	r.mu.Unlock()
}

// renew makes new walls for the commands that come. The caller holds r.lookMu.
func (r *room) renew(paths profile.Paths, control uint64) error {
	w, err := r.sandbox.buildFor(r, paths)
	if err != nil {
		return err
	}
	r.mu.Lock()
	old := r.walls
	r.walls, r.control = w, control
	r.mu.Unlock()
	r.drop(old)
	return nil
}
