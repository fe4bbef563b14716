package events

import (
	"context"
	"slices"
	"sync"
)

// Kind is the kind of an event.
type Kind int

// The kinds of events.
const (
	None       Kind = iota
	Record          // Data is a line of the trail
	Checkpoint      // Data is a signed checkpoint of the trail
	Lost            // Count events were lost to this subscriber at this position
)

// Event is what is published. Subscribers share Data and must not modify it.
type Event struct {
	Kind  Kind
	Trail string // the name of the trail
	Seq   uint64 // number on the trail, if it is a record
	Data  []byte

	// For Lost: the number of lost events, and the numbers of the first and
	// last record among them; 0 if there was none.
	Count, From, To uint64
}

// Bus passes events from publishers to subscribers. The zero Bus has no
// subscribers and is ready to use. Its methods may be called concurrently.
type Bus struct {
	mu     sync.Mutex
	subs   []*Subscription
	closed bool
}

// Publish passes an event to all subscribers and waits for none of them. The
// caller may reuse e.Data when it returns. After Close it does nothing.
func (b *Bus) Publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	copied := false
	for _, s := range b.subs {
		if s.opts.Want != nil && !s.opts.Want(e) {
			continue
		}
		if !copied {
			e.Data, copied = slices.Clone(e.Data), true
		}
		s.put(e)
	}
}

// Subscribe starts a subscription to what is published from now on. The caller
// closes it, or closes the bus.
func (b *Bus) Subscribe(o Options) *Subscription {
	s := newSubscription(b, o)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		s.finish()
		return s
	}
	b.subs = append(b.subs, s)
	return s
}

// Close ends publishing. Subscribers still receive what is in their queues.
// Close returns when they have received it, or when ctx is done: then the rest
// is dropped, and the last event of each subscription says how much was lost.
func (b *Bus) Close(ctx context.Context) {
	b.mu.Lock()
	subs := b.subs
	b.subs, b.closed = nil, true
	b.mu.Unlock()
	for _, s := range subs {
		s.finish()
	}
	for _, s := range subs {
		select {
		case <-s.empty:
		case <-ctx.Done():
			s.drop()
		}
	}
}

func (b *Bus) remove(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = slices.DeleteFunc(slices.Clone(b.subs), func(other *Subscription) bool { return other == s })
}
