package sink

import (
	"context"
	"log/slog"
	"time"

	"tipstaff/internal/audit/events"
)

// Set is the running sinks of a server.
type Set struct {
	bus    *events.Bus
	pumps  []*pump
	cancel context.CancelFunc
}

// Start subscribes sinks to a bus and delivers events to them. The caller
// closes the set.
func Start(b *events.Bus, sinks []Sink, log *slog.Logger) *Set {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Set{bus: b, cancel: cancel}
	for _, one := range sinks {
		p := newPump(one, b, log)
		s.pumps = append(s.pumps, p)
		go p.run(ctx)
	}
	return s
}

// How long the server's end waits for all sinks together: for delivery, and
// then for sends that were cancelled.
const (
	drainTime = 1500 * time.Millisecond
	graceTime = 300 * time.Millisecond
)

// Close closes the bus, and gives the sinks a bounded time to deliver the rest.
// It logs what they did not deliver. It abandons a sink whose Send does not
// return, because the process is about to end.
func (s *Set) Close() {
	drain, stop := context.WithTimeout(context.Background(), drainTime)
	defer stop()
	for _, p := range s.pumps {
		close(p.closing)
	}
	s.bus.Close(drain)
	s.await(drain)
	s.cancel()
	grace, stopped := context.WithTimeout(context.Background(), graceTime)
	defer stopped()
	s.await(grace)
	for _, p := range s.pumps {
		s.report(p)
		go func() { _ = p.sink.Close() }() // closing some descriptors waits for their writers
	}
}

func (s *Set) await(ctx context.Context) {
	for _, p := range s.pumps {
		select {
		case <-p.done:
		case <-ctx.Done():
		}
	}
}

func (s *Set) report(p *pump) {
	undelivered, lost := p.left()
	if undelivered.Count > 0 {
		p.log.Error("the server ends before the sink has taken everything; it is on the trail",
			"records", undelivered.Count, "from_seq", undelivered.From, "to_seq", undelivered.To)
	}
	if lost.Count > 0 {
		p.log.Warn("records were lost to the sink; they are on the trail", "records", lost.Count, "from_seq", lost.From, "to_seq", lost.To)
	}
}
