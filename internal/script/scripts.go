package script

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

// Monitor executes commands: internal/monitor, as a front uses it.
type Monitor interface {
	Execute(ctx context.Context, req tipstaff.Request, live run.Live) (tipstaff.Result, error)
}

// Scripts runs the scripts of one server, and passes other commands on: it is a
// [run.Runner]. Set its fields before the first use; its methods may be called
// concurrently.
type Scripts struct {
	// Local starts script processes, in the sandboxes of their scripts.
	Local run.Local
	// Next runs everything that is not a script.
	Next run.Runner
	// Monitor is where the commands of scripts go.
	Monitor Monitor
	// Program is the program of the script process, and Argv its arguments, its name
	// first.
	Program *os.File
	Argv    []string
	// Modes says what a script may do: open files for writing by redirections, and go
	// on after a command of it was refused.
	Modes func(g *policy.Grant) (write, goOn bool)
	// MayStay reports whether a command could run in the background, and for how long:
	// then what it leaves running may go on in the session of its script, MostLeft of
	// these in each session.
	MayStay  func(req tipstaff.Request) (life time.Duration, may bool)
	MostLeft int
	Log      *slog.Logger

	states states
	kept   leftovers
	heavy  atomic.Int64 // see carry
	failed sync.Once    // to start a process that waits
	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // makes script processes for scripts to come
}

// Run carries out g: a script, or anything else by Next.
func (s *Scripts) Run(ctx context.Context, g *policy.Grant, live run.Live) (tipstaff.Result, error) {
	if g.Request().Script == "" {
		return s.Next.Run(ctx, g, live)
	}
	r := newRun(ctx, s, g, live)
	defer r.cancel(nil)
	res, err := s.Local.Carry(ctx, g, live, func(c run.Prepared) (run.Started, error) {
		if err := r.start(c); err != nil {
			return nil, err
		}
		return r, nil
	})
	if err != nil {
		return res, err
	}
	r.tell(&res)
	return res, nil
}

// HasState reports whether a script has left a session something.
func (s *Scripts) HasState(id tipstaff.SessionID) bool { return s.states.of(id) != state{} }

// EndSession ends what scripts have left running in a session, and forgets what it has
// kept of them.
func (s *Scripts) EndSession(id tipstaff.SessionID) {
	s.kept.end(func(_ tipstaff.Origin, of tipstaff.SessionID) bool { return of == id })
	s.states.forget(id)
}

// Close ends what scripts have left running, and waits for what goes on behind the calls.
// No script may run, or be run afterwards.
func (s *Scripts) Close() {
	s.kept.end(func(tipstaff.Origin, tipstaff.SessionID) bool { return true })
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
}

// behind calls f on another goroutine, unless the server ends; then it returns false.
func (s *Scripts) behind(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(f)
	}
	return !s.closed
}
