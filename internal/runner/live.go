package runner

import (
	"context"

	"tipstaff/internal/policy"
)

// Live is how a caller takes part while a command is on its way. The zero Live
// listens to nothing and can be asked nothing.
type Live struct {
	// Started is called once, when a process has been started.
	Started func()
	// Stdout and Stderr are given what the command prints, as it comes and good for
	// the time of the call. They must not wait for anything; each is called from a
	// goroutine of its own.
	Stdout, Stderr func(p []byte)
	// Ask puts a question to the person at the caller's end; nil: nobody is there.
	Ask func(ctx context.Context, q policy.Question) (policy.Answer, error)
	// Approval is the handle of a question that has been answered; "": none.
	Approval string
}

func (l Live) started() {
	if l.Started != nil {
		l.Started()
	}
}

// listen lets the caller hear both streams, beside whoever hears them already.
func (l Live) listen(s *streams) {
	if l.Stdout != nil {
		s.out.Watch(l.Stdout)
	}
	if l.Stderr != nil {
		s.err.Watch(l.Stderr)
	}
}
