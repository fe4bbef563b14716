package reload

import (
	"context"
	"time"

	"tipstaff/internal/policy/facts"
)

// interval is how often the policy files are checked for changes, with one stat
// for each. Watching them with the kernel's help would not be more reliable: it
// misses changes on network and overlay file systems, and it would have to hold
// every directory and link on the path, which a rename or a ConfigMap's swap of
// links replaces.
const interval = time.Second

// Follow reads the policy file when it has changed, and reads it and all other
// files whenever told receives, until ctx is done. When it returns, no file is
// being read any more.
func (r *Reloader) Follow(ctx context.Context, told <-chan struct{}) {
	var look <-chan time.Time
	if r.Policy() != nil {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
			if r.o.Others != nil {
				r.o.Others()
			}
			r.Reload(Signal)
		case <-look:
			r.look()
		}
	}
}

// look reads the file if it has changed and has not changed again since the
// look before: half of a file that is just being written may be a valid one
// with fewer rules. It does not read a file that a command may have changed.
func (r *Reloader) look() {
	r.mu.Lock()
	state, _ := facts.StateOf(r.read.Sources)
	again := r.read.Fresh
	if state != r.read.State {
		again = state == r.moving
		r.moving = state
	}
	sources := r.read.Sources
	r.mu.Unlock()
	if again && r.o.Keeper.MayReread(sources...) {
		r.Reload(Change)
	}
}
