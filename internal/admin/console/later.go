package console

import (
	"context"
	"sync"
	"time"
)

// later keeps results that take longer to make than a person likes to wait. A
// look starts the making, waits a moment, and otherwise says that it goes on. No
// result is made twice at once, and the making of one result again and again
// takes no more than a small part of a processor.
type later[K comparable, V any] struct {
	mu   sync.Mutex
	kept map[K]*result[V]
}

// result is what is kept, and what is being made in its place.
type result[V any] struct {
	value  V
	err    error
	made   time.Time // zero: never
	took   time.Duration
	looked time.Time
	making chan struct{} // closed when the making has ended; nil: nothing is made
}

// found is what a look finds.
type found[V any] struct {
	Value  V
	Err    error
	Made   time.Time // when it was begun; zero: there is none yet
	Making bool      // a newer one is being made
}

const (
	// moment is how long a look waits.
	moment = 800 * time.Millisecond
	// leisure is how much longer a result counts than its making took.
	leisure = 50
	// mostKept bounds the results of a kind.
	mostKept = 16
)

// look returns the result for key. One that is older than fresh is made anew by
// do, which gets ctx, in a goroutine of work.
func (l *later[K, V]) look(ctx context.Context, work *sync.WaitGroup, key K, fresh time.Duration, do func(context.Context) (V, error)) found[V] {
	r, making := l.start(ctx, work, key, fresh, do)
	if making != nil {
		wait := time.NewTimer(moment)
		defer wait.Stop()
		select {
		case <-making:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return found[V]{r.value, r.err, r.made, r.making != nil}
}

// start begins to make a result if it is time. It returns the result, which may be
// forgotten meanwhile, and what is closed at the end of its making; nil if it counts
// as it is.
func (l *later[K, V]) start(ctx context.Context, work *sync.WaitGroup, key K, fresh time.Duration, do func(context.Context) (V, error)) (*result[V], <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		l.kept = map[K]*result[V]{}
	}
	r := l.kept[key]
	if r == nil {
		l.makeRoom()
		r = &result[V]{}
		l.kept[key] = r
	}
	now := time.Now()
	r.looked = now
	if r.making != nil {
		return r, r.making
	}
	if !r.made.IsZero() && now.Sub(r.made) < max(fresh, leisure*r.took) || ctx.Err() != nil {
		return r, nil
	}
	making := make(chan struct{})
	r.making = making
	work.Go(func() {
		began := time.Now()
		value, err := do(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		r.value, r.err, r.made, r.took, r.making = value, err, began, time.Since(began), nil
		close(making)
	})
	return r, making
}

// forget makes the next look make the result anew.
func (l *later[K, V]) forget(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.kept[key]; r != nil && r.making == nil {
		r.made, r.took = time.Time{}, 0
	}
}

// makeRoom forgets the result that was looked at least recently. The caller
// holds the lock.
func (l *later[K, V]) makeRoom() {
	if len(l.kept) < mostKept {
		return
	}
	var oldest K
	var at time.Time
	for key, r := range l.kept {
		if r.making == nil && (at.IsZero() || r.looked.Before(at)) {
			oldest, at = key, r.looked
		}
	}
	if !at.IsZero() {
		delete(l.kept, oldest)
	}
}
