package runner

import (
	"context"

	"tipstaff/internal/policy"
)

// Live connects a caller to its command while the command is in progress. All
// fields may be zero.
type Live struct {
	// Started is called once, when the process has been started.
	Started func()
	// Stdout and Stderr receive the command's output as it comes; p is valid
	// only during the call. They must not block. Each is called from a
	// goroutine of its own.
	Stdout, Stderr func(p []byte)
	// Ask puts a question to the person at the caller's end; nil: there is
	// none.
	Ask func(ctx context.Context, q policy.Question) (policy.Answer, error)
	// Approval is the handle of an answered question; "": none.
	Approval string
}

func (l Live) started() {
	if l.Started != nil {
		l.Started()
	}
}

// listen passes both outputs to the caller, in addition to earlier listeners.
func (l Live) listen(s *streams) {
	if l.Stdout != nil {
		s.out.Watch(l.Stdout)
	}
	if l.Stderr != nil {
		s.err.Watch(l.Stderr)
	}
}
