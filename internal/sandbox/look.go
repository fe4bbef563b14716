//go:build linux

package sandbox

import (
	"path/filepath"
	"slices"
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
// the pause is over. Where a glance has shown a change, there is hardly a pause.
func (r *room) lookAgain() {
	changed := r.glance.changed()
	r.mu.Lock()
	defer r.mu.Unlock()
	pause := max(lookPause, 50*r.cost)
	if changed {
		pause = 4 * r.cost
	}
	pause -= time.Since(r.looked)
	switch {
	case r.gone, r.doomed, r.walls == nil:
	case r.looking:
		r.again = true
	case pause <= 0:
		r.looking, r.over = true, make(chan struct{})
		r.users++ // it stays until the look is over
		r.sandbox.inBackground(r.look)
	case !r.waiting:
		r.waiting = true
		time.AfterFunc(pause, r.lookLater)
	}
}

// A look makes what a repository lacks, to keep it from others; in one that a
// command is removing just then, it would be in that command's way. So a look
// that nobody waits for waits for those who are in the room, for a while.
const (
	mostDeferrals = 6
	deferral      = 500 * time.Millisecond
)

// lookLater looks after a pause, unless all is over by then.
func (r *room) lookLater() {
	r.mu.Lock()
	r.waiting = r.users > 0 && r.deferred < mostDeferrals
	if r.waiting {
		r.deferred++
		time.AfterFunc(deferral, r.lookLater)
	} else {
		r.deferred = 0
	}
	later := r.waiting
	r.mu.Unlock()
	if !later {
		r.sandbox.behind(r.lookAgain)
	}
}

// awaitLook lets a command that may remove a repository wait until nobody makes
// anything in it.
func (r *room) awaitLook(c Command) {
	if len(c.Argv) == 0 || filepath.Base(c.Argv[0]) != "rm" && !slices.Contains(c.Argv, "worktree") {
		return
	}
	r.mu.Lock()
	looking, over := r.looking, r.over
	r.mu.Unlock()
	if !looking {
		return
	}
	limit := time.NewTimer(mostCatchUp)
	defer limit.Stop()
	select {
	case <-over:
	case <-limit.C:
	}
}

// mostCatchUp is how long a look may take for which a command waits: not longer
// than it would be without this one.
const mostCatchUp = lookPause

// catchUp looks before a command if a glance shows that the one before it, or
// anybody else, has made a repository or changed one: the next command is to find
// it pinned. The room has a user. Where a look takes long, it is left to those
// behind the calls.
func (r *room) catchUp(dir string) {
	if r.sandbox.status.tier != Namespaces || r.held.profile != profile.Workspace {
		return
	}
	r.mu.Lock()
	known, long := r.walls.paths.Repositories, r.cost > mostCatchUp
	r.mu.Unlock()
	unknown := r.glance.into(dir, known)
	if long || !unknown && !r.glance.changed() && !r.behindTime.Load() {
		return
	}
	r.lookMu.Lock()
	defer r.lookMu.Unlock()
	if unknown || r.glance.changed() { // or somebody else has looked meanwhile
		r.bringUpToDate()
	}
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
	close(r.over)
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
	began := time.Now()
	r.behindTime.Store(r.glance.changed())
	defer r.behindTime.Store(false)
	r.glance.renew(r.workspace)
	paths, err := r.sandbox.resolve(r)
	r.mu.Lock()
	old := r.walls
	r.mu.Unlock()
	if err == nil && (!paths.Equal(old.paths) || !old.paths.Fresh() || !old.allowed.Fresh() || old.places.Load() > mostPlaces) {
		var w *walls
		if w, err = r.sandbox.build(r); err == nil {
			r.mu.Lock()
			r.walls = w
			r.mu.Unlock()
			r.drop(old)
		}
	}
	if err != nil {
		r.sandbox.o.Log.Error("cannot bring the sandbox up to date; commands are confined as before", "error", err)
	}
	r.mu.Lock()
	r.looked, r.cost = time.Now(), time.Since(began)
	r.mu.Unlock()
}
