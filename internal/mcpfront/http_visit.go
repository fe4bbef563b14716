package mcpfront

import (
	"context"
	"sync"
	"time"
)

// visit is the context of one HTTP request. A session of the library holds on to
// that of its first request for as long as it lives, so a visit that has ended
// lets go of everything.
type visit struct {
	mu  sync.Mutex
	ctx context.Context //nolint:containedctx // it is this request's own, and ends with it
	in  *inbound
}

var _ context.Context = (*visit)(nil)

func newVisit(ctx context.Context, in *inbound) *visit { return &visit{ctx: ctx, in: in} }

// over is what is left of a visit that has ended.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (v *visit) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ctx, v.in = over, nil
}

func (v *visit) own() context.Context {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ctx
}

// Deadline implements [context.Context].
func (v *visit) Deadline() (time.Time, bool) { return v.own().Deadline() }

// Done implements [context.Context].
func (v *visit) Done() <-chan struct{} { return v.own().Done() }

// Err implements [context.Context].
func (v *visit) Err() error { return v.own().Err() }

type visitKey struct{}

// Value gives what came in, or what the request's own context knows.
func (v *visit) Value(key any) any {
	if _, ok := key.(visitKey); ok {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.in
	}
	return v.own().Value(key)
}
