package console

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"tipstaff/internal/admin/api"
	"tipstaff/internal/peer"
)

// errForeign: another user of this host, or a command of tipstaff, has connected.
var errForeign = errors.New("this is for the user that the console runs as, and for root; not for commands")

// caller is who is at the other end of a connection.
type caller struct {
	conn net.Conn
	once sync.Once
	err  error // why it may not look; nil: it may, if it has come in
}

type callerKey struct{}

func rememberPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, callerKey{}, &caller{conn: c})
}

// check asks the kernel once for a connection.
func (p *caller) check(h *peer.Holders) error {
	p.once.Do(func() {
		switch c := p.conn.(type) {
		case *net.UnixConn:
			_, p.err = api.Peer(c)
		case *net.TCPConn:
			p.err = peer.TCP(c, h)
		default:
			p.err = errForeign
		}
	})
	return p.err
}

// knownPeer refuses other users of this host, and what a tipstaff has started,
// even if they know a cookie.
func (s *Server) knownPeer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := r.Context().Value(callerKey{}).(*caller)
		err := errForeign
		if ok {
			err = p.check(&s.holders)
		}
		if err != nil {
			s.opts.Log.Warn("refused a connection to the console", "error", err)
			http.Error(w, errForeign.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
