package idempotency

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// Entry is one call of a book.
type Entry[T any] struct {
	book   *Book[T]
	key    Key
	digest [32]byte
	brief  bool
	stays  bool
	cancel context.CancelCauseFunc
	done   chan struct{}

	// The fields below are guarded by the book's lock.

	callers int
	grace   *time.Timer // runs while there are none; nil: it was never needed
	ended   time.Time
	size    int
	answer  T
	err     error
}

// Done is closed when the call has ended.
func (e *Entry[T]) Done() <-chan struct{} { return e.done }

// Answer is how the call has ended. It may be called when Done is closed.
func (e *Entry[T]) Answer() (T, error) {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	return e.answer, e.err
}

// Leaving is how a caller leaves.
type Leaving int

const (
	// GivesUp: the caller wants no answer. Without others the call ends.
	GivesUp Leaving = iota
	// MayReturn: the caller was perhaps cut off. Without others the call ends when
	// none has come within the grace, unless it stays.
	MayReturn
	// Gone: the caller was cut off and had its time to come back. Without others the
	// call ends, unless it stays.
	Gone
)

// Wait returns the answer of the call. When ctx ends before that, the caller leaves
// as by [Entry.Leave]; it still gets the answer if that has ended the call.
func (e *Entry[T]) Wait(ctx context.Context, how Leaving) (T, error) {
	select {
	case <-e.done:
	case <-ctx.Done():
		if !e.Leave(context.Cause(ctx), how) {
			var none T
			return none, fmt.Errorf("the call goes on without this caller: %w", context.Cause(ctx))
		}
		<-e.done
	}
	return e.Answer()
}

// Leave says that a caller waits no more, and reports whether the call ends now.
func (e *Entry[T]) Leave(why error, how Leaving) bool {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	e.callers--
	switch {
	case e.callers > 0 || e.stays && how != GivesUp:
		return false
	case how == MayReturn && e.grace != nil:
		e.grace.Reset(e.book.opts.Grace)
		return false
	case how == MayReturn:
		e.grace = time.AfterFunc(e.book.opts.Grace, e.endAlone)
		return false
	}
	e.cancel(why)
	return true
}

func (e *Entry[T]) endAlone() {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	if e.callers == 0 {
		e.cancel(ErrLost)
	}
}

// join counts another caller. The caller holds the lock.
func (e *Entry[T]) join() {
	e.callers++
	if e.grace != nil {
		e.grace.Stop()
	}
}

// run carries out the call. A panic is an error of this call alone.
func (e *Entry[T]) run(ctx context.Context, run func(context.Context, *Entry[T]) (T, error)) {
	var answer T
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		e.book.mu.Lock()
		e.answer, e.err, e.ended = answer, err, time.Now()
		e.book.keep(e)
		e.book.mu.Unlock()
		e.cancel(nil)
		close(e.done)
	}()
	answer, err = run(ctx, e)
}
