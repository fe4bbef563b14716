package console

import (
	"context"

	control "tipstaff/internal/admin/api"
	"tipstaff/internal/policy/freeze"
)

// Desk is where people see what servers do, and end it.
type Desk interface {
	Now(ctx context.Context) (control.Overview, error)
	// Follow calls each with what a command prints until it has ended.
	Follow(ctx context.Context, id string, each func(control.Event) error) error
	// Stop ends a command or a session.
	Stop(ctx context.Context, id string, kill bool) (control.Stopped, error)
	// Freeze may return what has come of it beside an error that says which servers
	// did not answer.
	Freeze(ctx context.Context, t freeze.Target, why string) (control.Frozen, error)
	Lift(ctx context.Context, t freeze.Target) (freeze.Entry, error)
}

// Questions are the commands that wait for a person.
type Questions interface {
	// List returns the open questions. It may return some with an error that says
	// which servers did not answer.
	List() ([]control.Question, error)
	Approve(handle string, session bool) (control.Question, error)
	Deny(handle, comment string) (control.Question, error)
}

// Sockets speaks with the servers of a state directory by their control sockets.
// Each server records who has acted: the user that this console runs as.
type Sockets struct {
	State string
	// Alone records a freeze and its end where no server runs.
	Alone control.Record
}

// Now implements [Desk].
func (s Sockets) Now(ctx context.Context) (control.Overview, error) { return control.Now(ctx, s.State) }

// Follow implements [Desk].
func (s Sockets) Follow(ctx context.Context, id string, each func(control.Event) error) error {
	return control.Follow(ctx, s.State, id, each)
}

// Stop implements [Desk].
func (s Sockets) Stop(ctx context.Context, id string, kill bool) (control.Stopped, error) {
	return control.Stop(ctx, s.State, id, kill)
}

// Freeze implements [Desk].
func (s Sockets) Freeze(ctx context.Context, t freeze.Target, why string) (control.Frozen, error) {
	return control.Freeze(ctx, s.State, t, why, s.Alone)
}

// Lift implements [Desk].
func (s Sockets) Lift(ctx context.Context, t freeze.Target) (freeze.Entry, error) {
	return control.Lift(ctx, s.State, t, s.Alone)
}

// List implements [Questions].
func (s Sockets) List() ([]control.Question, error) { return control.List(s.State) }

// Approve implements [Questions].
func (s Sockets) Approve(handle string, session bool) (control.Question, error) {
	return control.Approve(s.State, handle, session)
}

// Deny implements [Questions].
func (s Sockets) Deny(handle, comment string) (control.Question, error) {
	return control.Deny(s.State, handle, comment)
}
