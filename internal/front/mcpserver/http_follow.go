package mcpserver

import (
	"context"
	"net/http"
	"strings"
)

// The library's session keeps the last message that it was sent for as long as
// it lives (its backlog is a slice that is cut from the front). A few thousand
// idle sessions, each with a long message, would take gigabytes; so a long
// message is followed by a short one, which replaces it.

// longMessage is the size from which an idle session must not keep a message.
const longMessage = 4 << 10

// short has no effect: no operation of the server has this token.
const short = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"","progress":0}}`

// follow sends the short message of a session, after a long one.
func (h *HTTPHandler) follow(ctx context.Context, session string, in *inbound) {
	own := &inbound{peer: in.peer, principal: in.principal, post: &post{handler: h}}
	ctx = context.WithValue(context.WithoutCancel(ctx), requestKey{}, own)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(short))
	if err != nil {
		return // the request is always the same
	}
	r.Header = http.Header{
		"Authorization": {bearer}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		sessionHeader: {session},
	}
	h.stateful.ServeHTTP(&unheard{header: http.Header{}}, r)
}

// unheard discards an answer that no client waits for.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header         { return u.header }
func (u *unheard) WriteHeader(int)             {}
func (u *unheard) Write(p []byte) (int, error) { return len(p), nil }
