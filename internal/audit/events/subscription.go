package events

import (
	"context"
	"sync"
)

// Options bound a subscription. The zero Options are useful.
type Options struct {
	// Events is the number of events that may wait; 0 means 1024.
	Events int
	// Bytes is the size of the events that may wait; 0 means 1 MiB. One event
	// may always wait, even if it is larger.
	Bytes int
	// Want selects events before they are queued; nil selects all. It is called
	// during Publish, must return at once, and must not keep the data.
	Want func(Event) bool
}

// reserve is the number of checkpoints that may wait when the queue is full:
// each covers all records before it, including lost ones.
const reserve = 8

// Subscription is the queue of one subscriber. Next and Poll must not be called
// concurrently; Close may be called by any goroutine.
type Subscription struct {
	bus  *Bus
	opts Options

	mu       sync.Mutex
	queue    []Event
	waiting  int // number of events in the queue, without losses
	marks    int // number of checkpoints among them
	bytes    int
	finished bool          // no further events arrive
	emptied  bool          // finished, and the queue is empty
	wake     chan struct{} // capacity 1
	empty    chan struct{} // closed when emptied is set
}

func newSubscription(b *Bus, o Options) *Subscription {
	if o.Events <= 0 {
		o.Events = 1024
	}
	if o.Bytes <= 0 {
		o.Bytes = 1 << 20
	}
	return &Subscription{bus: b, opts: o, wake: make(chan struct{}, 1), empty: make(chan struct{})}
}

// put queues an event, or records its loss if there is no space.
func (s *Subscription) put(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.finished:
		return
	case !s.room(e):
		s.lose(e)
	default:
		s.queue = append(s.queue, e)
		s.waiting++
		s.bytes += len(e.Data)
		if e.Kind == Checkpoint {
			s.marks++
		}
	}
	s.rouse()
}

func (s *Subscription) room(e Event) bool {
	if s.waiting == 0 || e.Kind == Checkpoint && s.marks < reserve {
		return true
	}
	return s.waiting < s.opts.Events && s.bytes+len(e.Data) <= s.opts.Bytes
}

// lose adds e to the loss at the end of the queue, or appends a loss.
func (s *Subscription) lose(e Event) {
	if n := len(s.queue); n == 0 || s.queue[n-1].Kind != Lost {
		s.queue = append(s.queue, Event{Kind: Lost})
	}
	l := &s.queue[len(s.queue)-1]
	l.Count++
	if e.Kind == Record {
		l.To = e.Seq
		if l.From == 0 {
			l.From = e.Seq
		}
	}
}

// Next waits for the next event. ok is false if there are no more events
// because the subscription or the bus was closed, or if ctx is done.
func (s *Subscription) Next(ctx context.Context) (e Event, ok bool) {
	for {
		e, ok, finished := s.take()
		if ok || finished {
			return e, ok
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Event{}, false
		}
	}
}

// Poll returns the next event if one is queued.
func (s *Subscription) Poll() (e Event, ok bool) {
	e, ok, _ = s.take()
	return e, ok
}

func (s *Subscription) take() (e Event, ok, finished bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.checkEmpty()
		return Event{}, false, s.finished
	}
	e = s.queue[0]
	s.queue[0] = Event{} // release the data
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	if e.Kind != Lost {
		s.waiting--
		s.bytes -= len(e.Data)
	}
	if e.Kind == Checkpoint {
		s.marks--
	}
	s.checkEmpty()
	return e, true, s.finished
}

// Close ends the subscription and drops its queue.
func (s *Subscription) Close() {
	s.bus.remove(s)
	s.mu.Lock()
	s.queue, s.waiting, s.marks, s.bytes = nil, 0, 0, 0
	s.mu.Unlock()
	s.finish()
}

// finish marks the queue as complete.
func (s *Subscription) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished = true
	s.checkEmpty()
	s.rouse()
}

// drop replaces the content of the queue by a loss.
func (s *Subscription) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all Event
	for _, e := range s.queue {
		all = Sum(all, e)
	}
	s.queue, s.waiting, s.marks, s.bytes = nil, 0, 0, 0
	if all.Count > 0 {
		s.queue = []Event{all}
	}
	s.checkEmpty()
	s.rouse()
}

// Sum returns the loss that consists of lost and then e, which is an event or
// another loss.
func Sum(lost, e Event) Event {
	lost.Kind = Lost
	switch e.Kind {
	case Lost:
		lost.Count += e.Count
	default:
		lost.Count++
		if e.Kind == Record {
			e.From, e.To = e.Seq, e.Seq
		}
	}
	if lost.From == 0 {
		lost.From = e.From
	}
	if e.To != 0 {
		lost.To = e.To
	}
	return lost
}

// The caller of checkEmpty and rouse holds the lock.
func (s *Subscription) checkEmpty() {
	if s.finished && len(s.queue) == 0 && !s.emptied {
		s.emptied = true
		close(s.empty)
	}
}

func (s *Subscription) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
