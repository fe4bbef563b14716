package reload

import (
	"context"
	"time"

	"tipstaff/internal/host"
)

// interval is how often the files of the policy are looked at: one stat for each.
// Watching by the kernel would be no surer: it misses network and overlay file
// systems, and has to hold on to every directory and link on the way, which a
// rename or a ConfigMap's swap of links takes from under it.
const interval = time.Second

// Follow reads the file when it has changed, and together with all others whenever
// told says so, until ctx is done. It returns when no file is read any more.
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

// look reads the file if it has changed, and has rested since the look before: half
// a file that is just being written may be a good one, with fewer rules. It does
// not where a command may have changed it.
func (r *Reloader) look() {
	r.mu.Lock()
	state, _ := host.StateOf(r.read.Sources)
	again := r.read.Fresh
	if state != r.read.State {
		again = state == r.moving
		r.moving = state
	}
	sources := r.read.Sources
	r.mu.Unlock()
	if again && r.o.Keeper.May(sources...) {
		r.Reload(Change)
	}
}
