package session

import (
	"context"
	"sync"
	"time"

	"tipstaff"
)

// entry is one living session.
type entry struct {
	id        tipstaff.SessionID
	principal string

	// ctx ends with the session; its cause says why.
	ctx    context.Context //nolint:containedctx // it is the session's lifetime, not that of a call
	cancel context.CancelCauseFunc

	idle time.Duration

	mu      sync.Mutex
	session tipstaff.Session
	expiry  *time.Timer // nil until the session is watched
	turns   turns
	members sync.WaitGroup // commands in the background; none joins after the end
}

func newEntry(s tipstaff.Session, idle time.Duration) *entry {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &entry{id: s.ID, principal: s.Origin.Principal, ctx: ctx, cancel: cancel, idle: idle, session: s}
}

func (e *entry) snapshot() tipstaff.Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.session
}

// touch restarts the idle time, unless a command is running.
func (e *entry) touch() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.turns.taken {
		e.startIdling()
	}
}

// startIdling starts the idle time. The caller holds the lock.
func (e *entry) startIdling() {
	if e.expiry != nil && e.ctx.Err() == nil {
		e.expiry.Reset(e.idle)
	}
}

// started notes that a process of the session was started.
func (e *entry) started() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session.State = tipstaff.SessionRunning
	e.session.Commands++
	e.session.LastCommand = time.Now().UTC()
}

// finished notes how a started command ended. It is not called for a command
// that was refused or could not be started, so such a command changes nothing.
func (e *entry) finished(r tipstaff.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session.State = tipstaff.SessionFailed
	if r.Cause == tipstaff.Exited && r.ExitCode == 0 {
		e.session.State = tipstaff.SessionCompleted
	}
}

// close ends running and waiting commands and those in the background with
// reason, and returns when they have ended.
func (e *entry) close(reason error) {
	e.mu.Lock()
	if e.expiry != nil {
		e.expiry.Stop()
	}
	e.cancel(reason) // under the lock: what is joining now has joined, or sees the end
	e.mu.Unlock()
	<-e.turns.none(&e.mu)
	e.members.Wait()
}

// bound returns a context that ends with the caller's and with the session.
func (e *entry) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.ctx, func() { cancel(context.Cause(e.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}
