package mcpfront

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/internal/bus"
	"tipstaff/internal/identity"
)

// peer is one client: a pair of streams, a session of the stateful protocol over
// HTTP, or one request of the stateless one.
type peer struct {
	name     string // stands on the records of all its calls
	front    string // "stdio" or "http"
	arrivals *arrivals
	listener listener
	web      *webPeer // nil over stdio
}

func newStdioPeer(b *bus.Bus) *peer {
	p := &peer{name: rand.Text(), front: "stdio", arrivals: newArrivals()}
	p.listener = listener{bus: b, name: p.name}
	return p
}

// local is who calls over stdio: the client has started the server and could run
// anything without it.
var local = identity.Principal{Name: "local", Scopes: identity.All()}

// inbound is what the front knows of a message that came in: on which way, from
// whom, as which. Nothing in it was written by the caller.
type inbound struct {
	peer      *peer
	principal identity.Principal
	arrival   arrival // 0: it has no place in an order
	number    uint64  // of the call on its peer
	post      *post   // nil over stdio
}

// inboundName is where the library carries an inbound from the transport to the
// handlers: of all that it passes on, this alone cannot be written by a client.
const inboundName = "tipstaff"

// token wraps in for the library.
func (in *inbound) token() *auth.TokenInfo {
	return &auth.TokenInfo{UserID: in.principal.Name, Extra: map[string]any{inboundName: in}}
}

func (in *inbound) extra() *mcp.RequestExtra { return &mcp.RequestExtra{TokenInfo: in.token()} }

// carried reads back what token has wrapped; nil if there is nothing.
func carried(extra *mcp.RequestExtra) *inbound {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	in, _ := extra.TokenInfo.Extra[inboundName].(*inbound)
	return in
}

type inboundKey struct{}

// nobody is where a message comes from that no transport of ours has brought.
var nobody = &inbound{peer: &peer{}}

// inboundOf gives what identify has found out; never nil.
func inboundOf(ctx context.Context) *inbound {
	if in, ok := ctx.Value(inboundKey{}).(*inbound); ok {
		return in
	}
	return nobody
}

// callName is what the records of a call name it.
func (in *inbound) callName() string { return in.peer.name + "/" + strconv.FormatUint(in.number, 10) }

// settle says that the call has its place among those of its connection, or
// needs none.
func (in *inbound) settle() {
	if in.arrival > 0 {
		in.peer.arrivals.settle(in.arrival)
	}
}

// await waits until every earlier call of the connection is settled.
func (in *inbound) await(ctx context.Context) error {
	if in.arrival == 0 {
		return nil
	}
	return in.peer.arrivals.await(ctx, in.arrival)
}

// listen tells the client of its events from now on.
func (in *inbound) listen(session *mcp.ServerSession) { in.peer.listener.begin(session) }

// identify finds out where a message comes from, for everything behind it. Over
// HTTP it also ties the call to what may end it.
func (s *Server) identify(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		in := carried(req.GetExtra())
		if in == nil {
			return next(ctx, method, req)
		}
		if in.post != nil {
			return in.web(ctx, method, req, next)
		}
		return next(context.WithValue(ctx, inboundKey{}, in), method, req)
	}
}
