package once

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

// Wait returns the answer of the call. When ctx ends before that, the caller leaves
// as by [Entry.Leave]; it still gets the answer if that has ended the call.
func (e *Entry[T]) Wait(ctx context.Context, lost bool) (T, error) {
	select {
	case <-e.done:
	case <-ctx.Done():
		if !e.Leave(context.Cause(ctx), lost) {
			var none T
			return none, fmt.Errorf("the call goes on without this caller: %w", context.Cause(ctx))
		}
		<-e.done
	}
	return e.Answer()
}

// Leave says that a caller waits no more. The last one that leaves ends the call,
// unless it stays; if the caller was lost and may come back, it ends when that has
// not happened within the grace. Leave reports whether the call ends now.
func (e *Entry[T]) Leave(why error, lost bool) bool {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	e.callers--
	switch {
	case e.callers > 0 || e.stays:
		return false
	case lost && e.grace != nil:
		e.grace.Reset(e.book.opts.Grace)
		return false
	case lost:
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
