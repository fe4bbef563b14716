package mcpserver

import (
	"context"
	"sync"
)

// The library runs each call in a goroutine of its own, so two calls that came
// one after the other may reach their session in either order. The connection
// therefore numbers calls as they arrive, and a call that needs a place in the
// order waits until every earlier call has its place or needs none.

// callOrder is the number of a call on its connection; 0 means no number.
type callOrder uint64

// callOrders counts the calls of one connection.
type callOrders struct {
	mu      sync.Mutex
	last    callOrder
	settled map[callOrder]bool // those settled before an earlier one
	low     callOrder          // everything up to here is settled
	moved   chan struct{}      // closed when low grows
}

func newCallOrders() *callOrders {
	return &callOrders{settled: map[callOrder]bool{}, moved: make(chan struct{})}
}

func (a *callOrders) next() callOrder {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	return a.last
}

// release marks a call as having its place or needing none. It may be called
// twice.
func (a *callOrders) release(x callOrder) {
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
func (a *callOrders) await(ctx context.Context, x callOrder) error {
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
