package mcpfront

import (
	"context"
	"sync"
)

// The library hands each call to a goroutine of its own, so two calls that
// came one after the other may reach their session in either order. The
// connection therefore numbers calls as they arrive, and a call that wants a
// place in an order waits until all earlier ones have theirs or need none.

// arrival is the number of a call on its connection; 0 is no number.
type arrival uint64

// arrivals counts the calls of one connection.
type arrivals struct {
	mu      sync.Mutex
	last    arrival
	settled map[arrival]bool // out of turn: settled before an earlier one was
	low     arrival          // everything up to here is settled
	moved   chan struct{}    // closed when low grows
}

func newArrivals() *arrivals {
	return &arrivals{settled: map[arrival]bool{}, moved: make(chan struct{})}
}

func (a *arrivals) next() arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	return a.last
}

// settle says that a call has its place or needs none. It may be said twice.
func (a *arrivals) settle(x arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x <= a.low {
		return
	}
	a.settled[x] = true
	before := a.low
	for a.settled[a.low+1] {
		a.low++
		delete(a.settled, a.low)
	}
	if a.low != before {
		close(a.moved)
		a.moved = make(chan struct{})
	}
}

// await waits until every earlier call is settled.
func (a *arrivals) await(ctx context.Context, x arrival) error {
	for x > 0 {
		a.mu.Lock()
		turn, moved := a.low >= x-1, a.moved
		a.mu.Unlock()
		if turn {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
