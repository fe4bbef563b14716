package console

import "tipstaff/internal/control"

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
type Sockets struct{ State string }

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
