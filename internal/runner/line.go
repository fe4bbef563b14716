package runner

import (
	"context"
	"slices"
	"sync"
)

// line is a fair queue: whoever comes first is served first.
type line struct {
	mu      sync.Mutex
	free    int
	waiting []chan struct{} // closed when it is this one's turn
}

func newLine(places int) *line { return &line{free: places} }

// enter waits for a place. On success the caller leaves.
func (l *line) enter(ctx context.Context) error {
	l.mu.Lock()
	if l.free > 0 { // nobody waits while a place is free
		l.free--
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.waiting, turn)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 {
		l.leave() // the turn came in the same moment
	}
	return context.Cause(ctx)
}

// leave gives the place to the next in line.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
		return
	}
	l.free++
}
