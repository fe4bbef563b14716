package mcpfront

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session of the library costs more than ten kilobytes: it has a goroutine, and
// holds on to its first and its last request, however large. So one that rests is
// parked: the library's session ends, and what is kept is the request that began
// it. The next request of the client wakes it by sending that again. The client
// notices nothing, for nothing of ours belongs to a session of the library.

// rests reports whether a session can be parked: nothing goes on in it, and its
// client does not listen to events.
func (p *peer) rests(since time.Time) bool {
	w := p.web
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session != nil && w.open == 0 && len(w.running) == 0 && w.used.Before(since) && !p.listener.begun()
}

// park ends the library's session of a session that still rests.
func (h *HTTPHandler) park(id string, p *peer, since time.Time) {
	w := p.web
	w.turn.Lock()
	defer w.turn.Unlock()
	if !p.rests(since) {
		return
	}
	w.mu.Lock()
	session := w.session
	w.session = nil
	w.mu.Unlock()
	_ = session.Close() // nobody is there to tell
	h.sessions.replays.rename(session.ID(), id)
}

// wake gives the library's name of a session, which it makes anew for one that is
// parked; "" when that cannot be done, and the client has to begin another.
func (h *HTTPHandler) wake(ctx context.Context, id string, in *inbound) string {
	w := in.peer.web
	w.turn.Lock()
	defer w.turn.Unlock()
	if session := w.live(); session != nil {
		return session.ID()
	}
	h.again(ctx, in, "", w.hello)
	session := w.live()
	if session == nil {
		return ""
	}
	h.sessions.replays.rename(id, session.ID())
	h.again(ctx, in, session.ID(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return session.ID()
}

// again sends to the library what the client has sent long ago.
func (h *HTTPHandler) again(ctx context.Context, in *inbound, session string, body []byte) {
	v := newVisit(ctx, &inbound{peer: in.peer, principal: in.principal, post: &post{handler: h}})
	defer v.end()
	r, err := http.NewRequestWithContext(v, http.MethodPost, "/", bytes.NewReader(body))
	if err != nil {
		return // the session stays parked
	}
	r.Header = http.Header{"Authorization": {bearer}, "Content-Type": {"application/json"}, "Accept": {"*/*"}}
	if session != "" {
		r.Header.Set(sessionHeader, session)
	}
	h.stateful.ServeHTTP(&unheard{header: http.Header{}}, r)
}

// unheard is where answers go that the client has had.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header         { return u.header }
func (u *unheard) WriteHeader(int)             {}
func (u *unheard) Write(p []byte) (int, error) { return len(p), nil }
func (u *unheard) Flush()                      {}

// met notes the library's session of a peer that has just been initialized, for
// the first time or again.
func (h *HTTPHandler) met(session *mcp.ServerSession, p *peer) error {
	w := p.web
	w.mu.Lock()
	again := !w.used.IsZero()
	if again {
		w.session = session
	}
	w.mu.Unlock()
	if again {
		return nil
	}
	return h.sessions.add(session, p)
}
