package sink

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"tipstaff/internal/audit/events"
	"tipstaff/internal/peer"
)

// Bounds for the events that wait for a peer.
const (
	queueEvents = 10_000
	queueBytes  = 4 << 20
)

// Timing of attempts to deliver.
const (
	attempt      = 10 * time.Second // the longest time for one batch
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
	lastPauses   = 100 * time.Millisecond // while the server ends
)

// logEvery is how often failures of a peer are logged.
const logEvery = time.Minute

// pump delivers events from the bus to one sink.
type pump struct {
	sink Sink
	sub  *events.Subscription
	log  *slog.Logger
	done chan struct{} // closed when run has returned
	// closing is closed when the server ends.
	closing chan struct{}

	trail   string    // of the latest event
	failed  int       // number of failed attempts in a row
	logged  time.Time // when a failure was last logged
	foreign bool      // the last failure was that somebody else listens in place of the sink

	mu     sync.Mutex
	inHand events.Event // sum of what was taken from the queue and is not delivered
	lost   events.Event // sum of what will not be delivered
}

func newPump(s Sink, b *events.Bus, log *slog.Logger) *pump {
	return &pump{
		sink: s, log: log.With("sink", s.Name()),
		sub:  b.Subscribe(events.Options{Events: queueEvents, Bytes: queueBytes}),
		done: make(chan struct{}), closing: make(chan struct{}),
	}
}

// run delivers until the bus is closed and everything is delivered, or ctx is
// done.
func (p *pump) run(ctx context.Context) {
	defer close(p.done)
	for {
		batch, more := p.gather(ctx)
		p.deliver(ctx, batch)
		if !more {
			return
		}
	}
}

// gather waits for a first message, and a short time for others.
func (p *pump) gather(ctx context.Context) (batch []Message, more bool) {
	limits := p.sink.Limits()
	e, ok := p.sub.Next(ctx)
	if !ok {
		return nil, false
	}
	wait, cancel := context.WithTimeout(ctx, limits.Wait)
	defer cancel()
	for size := 0; ok; {
		batch = append(batch, p.message(e))
		if size += len(e.Data); len(batch) >= limits.Count || size >= limits.Bytes {
			return batch, true
		}
		if e, ok = p.sub.Poll(); !ok && limits.Wait > 0 {
			e, ok = p.sub.Next(wait)
		}
	}
	return batch, true // if the queue has ended, the next call reports it
}

func (p *pump) message(e events.Event) Message {
	if e.Trail != "" {
		p.trail = e.Trail
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Kind == events.Lost {
		p.lost = events.Sum(p.lost, e)
	} else {
		p.inHand = events.Sum(p.inHand, e)
	}
	return newMessage(e, p.trail, time.Now())
}

// deliver sends a batch until the peer has it, or ctx is done.
func (p *pump) deliver(ctx context.Context, batch []Message) {
	size := len(batch)
	for len(batch) > 0 && ctx.Err() == nil {
		trying, cancel := context.WithTimeout(ctx, attempt)
		n, err := p.sink.Send(trying, batch[:min(size, len(batch))])
		cancel()
		if partial, ok := errors.AsType[partialError](err); ok {
			p.rejected(batch[:n], uint64(partial), err)
			err = nil
		}
		batch = batch[n:]
		p.settle(batch)
		switch {
		case err == nil:
			p.works()
			size = len(batch)
		case errors.Is(err, errRefused) && size > 1 && len(batch) > 1:
			size = (min(size, len(batch)) + 1) / 2 // search for the message that is refused
		case errors.Is(err, errRefused):
			batch = p.giveUp(batch, err)
			size = len(batch)
		default:
			p.fails(ctx, err)
			p.pause(ctx, err)
		}
	}
}

// settle records what is in hand.
func (p *pump) settle(batch []Message) {
	var sum events.Event
	for _, m := range batch {
		if m.Kind != events.Lost {
			sum = events.Sum(sum, m.Event)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inHand = sum
}

// giveUp replaces the first message by a loss.
func (p *pump) giveUp(batch []Message, err error) []Message {
	first := batch[0].Event
	if first.Kind == events.Lost {
		return batch[1:] // the peer refuses even the report of a loss
	}
	p.log.Error("a record was refused and is lost to this sink; it is on the trail", "seq", first.Seq, "error", err)
	loss := events.Sum(events.Event{}, first)
	p.mu.Lock()
	p.lost = events.Sum(p.lost, loss)
	p.mu.Unlock()
	batch[0] = newMessage(loss, p.trail, time.Now())
	p.settle(batch)
	return batch
}

// rejected counts the messages that a peer rejected from a batch that it
// accepted otherwise.
func (p *pump) rejected(batch []Message, n uint64, err error) {
	first, last := span(batch)
	p.log.Error("records were rejected and are lost to this sink; they are on the trail", "among_seq", first, "to_seq", last, "error", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = events.Sum(p.lost, events.Event{Kind: events.Lost, Count: n, From: first, To: last})
}

// works records a success, and logs it if it follows failures.
func (p *pump) works() {
	if p.failed > 0 && !p.logged.IsZero() {
		p.mu.Lock()
		lost := p.lost
		p.mu.Unlock()
		p.log.Info("the sink takes records again", "lost_so_far", lost.Count)
	}
	p.failed, p.logged = 0, time.Time{}
}

// fails records a failure, and logs some of them.
func (p *pump) fails(ctx context.Context, err error) {
	p.failed++
	foreign := errors.Is(err, peer.ErrForeign)
	if ctx.Err() != nil || time.Since(p.logged) < logEvery && foreign == p.foreign {
		return
	}
	p.logged, p.foreign = time.Now(), foreign
	p.log.Error("cannot deliver records; they are on the trail, and wait for the sink as long as there is room", "attempts", p.failed, "error", err)
}

// pause waits before the next attempt: longer each time, and randomized, so
// that many servers do not reconnect at once.
func (p *pump) pause(ctx context.Context, err error) {
	d := min(longestPause, firstPause<<min(p.failed-1, 10))
	d = d/2 + rand.N(d/2+1) //nolint:gosec // a predictable pause is no risk
	if told, ok := errors.AsType[pauseError](err); ok {
		d = max(d, min(told.pause, 2*longestPause))
	}
	closing := p.closing
	select {
	case <-closing:
		d, closing = lastPauses, nil
	default:
	}
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	case <-closing: // one more attempt at once
	}
}

// left returns what this sink has not delivered: what it lost before, what is
// in hand, and what is queued. It is called once, at the end.
func (p *pump) left() (undelivered, lost events.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	undelivered, lost = p.inHand, p.lost
	for {
		e, ok := p.sub.Poll()
		if !ok {
			return undelivered, lost
		}
		undelivered = events.Sum(undelivered, e)
	}
}
