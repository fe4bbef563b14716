package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A stream of a session is sent on one connection. A client that has lost its own
// comes back with another one, often before this server has heard of the loss: a proxy
// or a network may keep the old connection half open for minutes. The library refuses
// the newer one then (409), and official clients give up after a few refusals; here
// the newer one displaces the older.

// hold is a request that holds a stream of a session.
type hold struct {
	out    *stream
	cancel context.CancelFunc
	gone   chan struct{} // closed when it holds nothing any more
}

// displaceTimeout is how long a request waits for the one that it displaces, which
// only has to notice.
const displaceTimeout = 5 * time.Second

// holds returns r as a request that holds streams until let is called.
func (w *webPeer) holds(r *http.Request, out *stream) (of *http.Request, h *hold, let func()) {
	ctx, cancel := context.WithCancel(r.Context())
	h = &hold{out: out, cancel: cancel, gone: make(chan struct{})}
	return r.WithContext(ctx), h, func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		for name, is := range w.held {
			if is == h {
				delete(w.held, name)
			}
		}
		if len(w.held) == 0 {
			w.held = nil
		}
		close(h.gone)
	}
}

// take gives a stream to a request, and returns when the one that had it before has
// let go.
func (w *webPeer) take(ctx context.Context, name string, h *hold) {
	w.mu.Lock()
	before := w.held[name]
	if w.held == nil {
		w.held = map[string]*hold{}
	}
	w.held[name] = h
	w.mu.Unlock()
	if before == nil || before == h {
		return
	}
	before.cancel()
	before.out.displace()
	limit := time.NewTimer(displaceTimeout)
	defer limit.Stop()
	select {
	case <-before.gone:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// answered returns when each call that a client still listens for is answered, or ctx
// is done.
func (w *webPeer) answered(ctx context.Context) {
	w.mu.Lock()
	var waits []*hold
	for name, h := range w.held {
		if name != standalone {
			waits = append(waits, h)
		}
	}
	w.mu.Unlock()
	for _, h := range waits {
		select {
		case <-h.gone:
		case <-ctx.Done():
			return
		}
	}
}

// streamOf returns the stream that a GET asks for, by its Last-Event-ID; the
// library's ids are STREAM_INDEX. It refuses others, which then take no stream from
// anybody.
func streamOf(r *http.Request) (stream string, ok bool) {
	last := r.Header.Get("Last-Event-Id")
	if last == "" {
		return standalone, true
	}
	stream, index, _ := strings.Cut(last, "_")
	n, err := strconv.Atoi(index)
	return stream, err == nil && n >= 0
}

// welcome is what a request that comes back to a stream is sent at once; nil for one
// that does not. It repeats the id that the request has sent: official clients forget
// it together with the connection on which it came, and would not find the stream once
// more. Clients of revisions before 2025-11-25 take every event for a message.
func welcome(r *http.Request) []byte {
	stream, ok := streamOf(r)
	switch {
	case !ok || stream == standalone:
		return nil
	case r.Header.Get(versionHeader) < lastStateful:
		return []byte(": back\n\n")
	}
	return fmt.Appendf(nil, "event: prime\nid: %s\ndata: \n\n", r.Header.Get("Last-Event-Id"))
}
