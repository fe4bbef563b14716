package rpc

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// DefaultPatience is how long a gateway waits without a sign of life of a runner.
const DefaultPatience = 5 * time.Second

// GatewayOptions are what a gateway needs. Link, Self, Signer and Fleet must be
// there.
type GatewayOptions struct {
	Link   Link
	Self   natsx.Address
	Signer Signer
	Fleet  Fleet
	// Claims remembers where calls went; nil: calls with ids of their callers need a
	// session.
	Claims Claims
	// Patience is how long a runner may be silent; 0: DefaultPatience.
	Patience time.Duration
	// Silent is told of each call whose runner fell silent; may be nil.
	Silent func(natsx.Address)
	Log    *slog.Logger
}

// Gateway sends calls to runners. It is a [Carrier].
type Gateway struct {
	opts   GatewayOptions
	stop   func()
	claims claimCounts

	mu    sync.Mutex
	calls map[string]*pendingCall // by token
}

// NewGateway listens for answers, until Close.
func NewGateway(o GatewayOptions) (*Gateway, error) {
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	g := &Gateway{opts: o, calls: map[string]*pendingCall{}}
	stop, err := o.Link.Subscribe(o.Self.AllAnswers(), g.hear)
	if err != nil {
		return nil, err
	}
	g.stop = stop
	return g, nil
}

// Close listens no more. Calls that go on then end as by silence.
func (g *Gateway) Close() { g.stop() }

// beat is how often a call gives and expects signs of life.
func (g *Gateway) beat() time.Duration { return max(g.opts.Patience/5, time.Millisecond) }

// hear hands an answer to its call. It does not block: a call has room for all
// frames that it has given credit for, and what does not fit is sent again.
func (g *Gateway) hear(m natsx.Message) {
	from, token, err := natsx.ParseAnswer(m.Subject)
	if err != nil {
		return
	}
	g.mu.Lock()
	w := g.calls[token]
	g.mu.Unlock()
	if w == nil || w.runner != from {
		return // the call is over, or it is none of this runner's
	}
	select {
	case w.inbox <- m:
	default:
	}
}

// enter makes a call known by its token.
func (g *Gateway) enter(w *pendingCall) (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls[w.token] = w
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.calls, w.token)
	}
}

var _ Carrier = (*Gateway)(nil)

// Carry sends a call to the runner that its ids lead to, or to one that has room.
func (g *Gateway) Carry(ctx context.Context, c Call, at Caller) ([]byte, error) {
	a, known, err := g.place(ctx, &c)
	if err != nil {
		return nil, err
	}
	if known {
		return g.send(ctx, a, c, at)
	}
	var answer []byte
	var fault error
	err = g.opts.Fleet.Place(ctx, c, func(ctx context.Context, a natsx.Address) error {
		answer, fault = g.send(ctx, a, c, at)
		if TurnedAway(fault) {
			return fault
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, fault
}
