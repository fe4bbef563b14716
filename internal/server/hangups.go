package server

import (
	"context"
	"sync/atomic"
)

// hangupKey is the context key of the hangups.
type hangupKey struct{}

// hangups holds the meaning of SIGHUP: it ends the program unless takeHangups
// has been called. A server with a policy file takes it and reads the file
// again. So does a server over HTTP, which has no terminal that could hang up.
type hangups struct {
	taken atomic.Pointer[chan struct{}]
}

// heard reports whether the signal was taken, and then passes it on.
func (h *hangups) heard() bool {
	ch := h.taken.Load()
	if ch == nil {
		return false
	}
	select {
	case *ch <- struct{}{}:
	default: // one is pending already and the file has not been read yet
	}
	return true
}

// WithHangups returns a context in which a server can take SIGHUP, and what tells it of
// the signal: hangup reports whether a server has taken it, else it is to end the program.
func WithHangups(ctx context.Context) (taking context.Context, hangup func() bool) {
	h := &hangups{}
	return context.WithValue(ctx, hangupKey{}, h), h.heard
}

// takeHangups takes SIGHUP: from now on it is passed on and does not end the
// program.
func takeHangups(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	if h, ok := ctx.Value(hangupKey{}).(*hangups); ok {
		h.taken.Store(&ch)
	}
	return ch
}
