package idempotency

import (
	"context"
	"errors"
	"sync"
	"time"

	"tipstaff"
)

// Key names a call: ids of different owners have nothing to do with each other.
type Key struct{ Owner, ID string }

// Options set the bounds of a book. 0 of a time or a number means none of it.
type Options[T any] struct {
	// Kept is how long after its end a call is known; KeptBrief is that of calls
	// whose ids their callers do not know.
	Kept, KeptBrief time.Duration
	// OwnMax bounds how many ids of one owner are known at once.
	OwnMax int
	// Bytes bounds the answers that are kept; Size measures one. Ids stay known when
	// their answers are forgotten.
	Bytes int
	Size  func(T) int
	// Grace is how long a call goes on that has lost its last caller.
	Grace time.Duration
}

// Call is a call as far as a book knows it.
type Call[T any] struct {
	Key Key
	// Digest tells calls with one id apart: another one is refused.
	Digest [32]byte
	// Brief: the caller has not given the id, so it cannot bring it back.
	Brief bool
	// Stays: the call goes on without callers.
	Stays bool
	// Run carries out the call; nil: the call only joins another one. ctx ends with
	// the callers. An error means that nothing was started, unless its code is
	// INTERNAL.
	Run func(ctx context.Context, e *Entry[T]) (T, error)
}

// Book has the calls of one server. Its methods may be called from several
// goroutines at once.
type Book[T any] struct {
	opts Options[T]

	mu      sync.Mutex
	closed  error
	entries map[Key]*Entry[T]
	own     map[string]int // ids that callers gave, by owner
	over    [2]queue[T]    // ended, the oldest in front: brief ones, others
	answers queue[T]       // whose answers are kept, the oldest in front
	bytes   int            // of all these
	running sync.WaitGroup
}

type queue[T any] []*Entry[T]

// NewBook returns an empty book.
func NewBook[T any](o Options[T]) *Book[T] {
	return &Book[T]{opts: o, entries: map[Key]*Entry[T]{}, own: map[string]int{}}
}

// Enter begins a call, or joins the one that has its id; joined says which. The
// caller calls [Entry.Wait] or [Entry.Leave] once. The values of ctx are those of
// the call's context; the end of ctx does not end the call.
func (b *Book[T]) Enter(ctx context.Context, c Call[T]) (e *Entry[T], joined bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep(time.Now())
	if e = b.entries[c.Key]; e != nil {
		if e.digest != c.Digest {
			return nil, false, otherCall(c.Key.ID)
		}
		e.join()
		return e, true, nil
	}
	switch {
	case c.Run == nil:
		return nil, false, unknown(c.Key.ID)
	case b.closed != nil:
		return nil, false, ending(b.closed)
	case !c.Brief && b.own[c.Key.Owner] >= b.opts.OwnMax:
		return nil, false, tooMany(b.opts.OwnMax)
	}
	e = &Entry[T]{book: b, key: c.Key, digest: c.Digest, brief: c.Brief, stays: c.Stays, callers: 1, done: make(chan struct{})}
	ctx, e.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	b.entries[c.Key] = e
	if !c.Brief {
		b.own[c.Key.Owner]++
	}
	b.running.Go(func() { e.run(ctx, c.Run) })
	return e, false, nil
}

// Close ends the calls, lets none begin any more, and returns when all have ended.
func (b *Book[T]) Close(why error) {
	b.mu.Lock()
	b.closed = why
	for _, e := range b.entries {
		e.cancel(why)
	}
	b.mu.Unlock()
	b.running.Wait()
}

// Running is how many calls are being carried out.
func (b *Book[T]) Running() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries) - len(b.over[0]) - len(b.over[1])
}

// sweep forgets the ids that were known long enough. The caller holds the lock.
func (b *Book[T]) sweep(now time.Time) {
	for i, kept := range [2]time.Duration{b.opts.KeptBrief, b.opts.Kept} {
		q := b.over[i]
		for len(q) > 0 && now.Sub(q[0].ended) >= kept {
			b.remove(q[0])
			q[0], q = nil, q[1:]
		}
		b.over[i] = q
	}
	for len(b.answers) > 0 && b.answers[0].size == 0 {
		b.answers[0], b.answers = nil, b.answers[1:]
	}
}

// remove forgets an id. The caller holds the lock.
func (b *Book[T]) remove(e *Entry[T]) {
	b.forgetAnswer(e)
	delete(b.entries, e.key)
	if e.brief {
		return
	}
	if b.own[e.key.Owner]--; b.own[e.key.Owner] == 0 {
		delete(b.own, e.key.Owner)
	}
}

// keep notes how a call has ended. The caller holds the lock.
func (b *Book[T]) keep(e *Entry[T]) {
	if e.err != nil && tipstaff.AsError(e.err).Code != tipstaff.Internal {
		b.remove(e)
		return
	}
	i := 1
	if e.brief {
		i = 0
	}
	b.over[i] = append(b.over[i], e)
	e.size = b.opts.Size(e.answer)
	b.bytes += e.size
	b.answers = append(b.answers, e)
	for b.bytes > b.opts.Bytes && len(b.answers) > 1 { // the newest is kept in any case
		b.forgetAnswer(b.answers[0])
		b.answers[0], b.answers = nil, b.answers[1:]
	}
}

// forgetAnswer keeps the id of a call alone. The caller holds the lock.
func (b *Book[T]) forgetAnswer(e *Entry[T]) {
	var none T
	b.bytes -= e.size
	if e.size > 0 {
		e.answer, e.size, e.err = none, 0, forgotten(e.key.ID)
	}
}

// ErrLost is why a call ends that lost its last caller.
var ErrLost = errors.New("no caller was left to wait for it")

// Knows reports whether a call has this id.
func (b *Book[T]) Knows(k Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entries[k] != nil
}
