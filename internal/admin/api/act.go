package api

import (
	"context"

	"tipstaff"
	"tipstaff/internal/policy/freeze"
)

// Stopped is what was ended.
type Stopped struct {
	// Commands are those that ran, or waited. Their end has begun; it takes at most
	// two seconds.
	Commands []Command `json:"commands"`
	Sessions []Session `json:"sessions,omitempty"`
}

// Stop ends a command, or a session with all its commands, by its id: SIGTERM for all
// their processes and SIGKILL half a second later, or SIGKILL at once if kill is set.
// It is on the trail with the user that asks. The error is [ErrUnknown] if no server
// knows the id.
func Stop(ctx context.Context, state, id string, kill bool) (Stopped, error) {
	return stop(ctx, state, id, kill)
}

// Record writes down a freeze or its end where no server runs that could. After an
// error nothing is changed, except that a freeze comes into force even so.
type Record func(e freeze.Entry, by tipstaff.Person, lifted bool) error

// Frozen is what has come of a freeze.
type Frozen struct {
	Entry   freeze.Entry `json:"entry"`
	Already bool         `json:"already,omitempty"` // it was frozen before
	Stopped              // what was ended for it
	Servers int          `json:"servers"` // that have taken it up
}

// Freeze refuses all commands of a target until it is lifted, on all servers with this
// state directory, also on those that start later, and ends what runs of it. If some
// servers did not answer, Freeze returns an error beside the outcome; they obey it from
// their next command on. alone records it if no server runs.
func Freeze(ctx context.Context, state string, t freeze.Target, why string, alone Record) (Frozen, error) {
	return freezeAll(ctx, state, t, why, alone)
}

// Lift ends a freeze of exactly this target. It returns the entry that was lifted;
// the error is [freeze.ErrNotFrozen] if there is none.
func Lift(ctx context.Context, state string, t freeze.Target, alone Record) (freeze.Entry, error) {
	return lift(ctx, state, t, alone)
}
