package main

import (
	"context"
	"sync/atomic"
)

// hangupKey finds the hangups in a context.
type hangupKey struct{}

// hangups says what SIGHUP means: the end, until somebody takes it for something
// else. A server with a policy file reads it again, and so does one over HTTP,
// which has no terminal that could hang up.
type hangups struct {
	taken atomic.Pointer[chan struct{}]
}

// heard reports whether somebody has taken the signal for something else, and
// passes it on.
func (h *hangups) heard() bool {
	ch := h.taken.Load()
	if ch == nil {
		return false
	}
	select {
	case *ch <- struct{}{}:
	default: // one is on its way already, and the file has not been read yet
	}
	return true
}

// takeHangups takes SIGHUP, from now on.
func takeHangups(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	if h, ok := ctx.Value(hangupKey{}).(*hangups); ok {
		h.taken.Store(&ch)
	}
	return ch
}
