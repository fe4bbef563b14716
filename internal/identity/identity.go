package identity

import (
	"net/http"
	"slices"
)

// Scope is a right to a group of tools.
type Scope string

// The scopes. Who has none may call nothing.
const (
	Execute  Scope = "execute"  // run commands with execute_*
	Sessions Scope = "sessions" // make sessions and run commands in them
	Read     Scope = "read"     // look at what is one's own
	Admin    Scope = "admin"    // look at what is everybody's; grant approvals
)

// All returns every scope, in a new slice.
func All() []Scope { return []Scope{Execute, Sessions, Read, Admin} }

// Principal is a caller that has shown who it is. The zero Principal is nobody
// and may do nothing.
type Principal struct {
	// Name is unique among the principals of a server and the same each time
	// they come. It stands in the record.
	Name   string
	Scopes []Scope
}

// May reports whether the principal has a scope.
func (p Principal) May(s Scope) bool { return p.Name != "" && slices.Contains(p.Scopes, s) }

// Authenticator finds out who sends a request. It may be called from many
// goroutines at once.
type Authenticator interface {
	// Authenticate returns the principal, or a *[Refusal].
	Authenticate(r *http.Request) (Principal, error)
}

// Refusal says why a request is nobody's. Everything but Err is told to the
// client.
type Refusal struct {
	Status    int    // of HTTP: 400, 401, 403 or 503
	Challenge string // for WWW-Authenticate, "" for none
	Msg       string
	Err       error // for the operator
}

func (r *Refusal) Error() string {
	if r.Err != nil {
		return r.Msg + ": " + r.Err.Error()
	}
	return r.Msg
}

func (r *Refusal) Unwrap() error { return r.Err }
