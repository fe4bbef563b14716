package httpserver

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// connectionLimiter bounds the number of connections. When all are in use, a
// new connection replaces the one that has been without a request of an
// authenticated caller for the longest time, so that slow clients cannot keep
// others out. Connections that are being served stay; when there are only such,
// the new one is closed.
type connectionLimiter struct {
	most int

	mu      sync.Mutex
	closed  bool
	waiting *list.List // of *connection, the one that has waited longest first
	serving int        // connections that are being served and so not in waiting
}

// connection is one connection.
type connection struct {
	net.Conn
	limiter *connectionLimiter
	place   *list.Element // in waiting; nil while served or closed
	busy    int           // requests that are being answered
	gone    bool

	// The user at the other end of a Unix socket, who stays the same.
	asked   sync.Once
	user    int
	unknown error
}

func newConnectionLimiter(most int) *connectionLimiter {
	return &connectionLimiter{most: most, waiting: list.New()}
}

// listener returns a listener that accepts within the limit.
func (c *connectionLimiter) listener(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, limiter: c}
}

type limitedListener struct {
	net.Listener
	limiter *connectionLimiter
}

func (d *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if v := d.limiter.enter(conn); v != nil {
			return v, nil
		}
		_ = conn.Close()
	}
}

// enter admits a connection; nil if the limit is reached.
func (c *connectionLimiter) enter(conn net.Conn) *connection {
	v := &connection{Conn: conn, limiter: c}
	out := c.admit(v)
	if out != nil {
		_ = out.Close()
	}
	if v.gone {
		return nil
	}
	return v
}

// admit adds v and returns the connection that has to be closed for it, or nil.
func (c *connectionLimiter) admit(v *connection) (out *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.serving >= c.most {
		v.gone = true
		return nil
	}
	if c.serving+c.waiting.Len() >= c.most {
		out, _ = c.waiting.Front().Value.(*connection) // the list holds nothing else
		c.leave(out)
	}
	v.place = c.waiting.PushBack(v)
	return out
}

// leave removes v. The caller holds the lock.
func (c *connectionLimiter) leave(v *connection) {
	switch {
	case v.gone:
		return
	case v.place != nil:
		c.waiting.Remove(v.place)
		v.place = nil
	default:
		c.serving--
	}
	v.gone = true
}

// Close closes the connection, which no longer counts towards the limit.
func (v *connection) Close() error {
	v.limiter.mu.Lock()
	v.limiter.leave(v)
	v.limiter.mu.Unlock()
	return v.Conn.Close()
}

// NetConn returns the underlying connection.
func (v *connection) NetConn() net.Conn { return v.Conn }

// serve protects a connection from being replaced while a request of an
// authenticated caller is answered.
func (v *connection) serve() (done func()) {
	c := v.limiter
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.busy++; v.place != nil {
		c.waiting.Remove(v.place)
		v.place = nil
		c.serving++
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if v.busy--; v.busy == 0 && !v.gone {
			c.serving--
			v.place = c.waiting.PushBack(v)
		}
	}
}

// closeIdle closes the connections without a request and admits no new ones.
func (c *connectionLimiter) closeIdle() {
	c.mu.Lock()
	c.closed = true
	var out []*connection
	for e := c.waiting.Front(); e != nil; e = e.Next() {
		if v, ok := e.Value.(*connection); ok {
			out = append(out, v)
		}
	}
	c.mu.Unlock()
	for _, v := range out {
		_ = v.Close()
	}
}

type connectionKey struct{}

// connContext puts the connection into the context of its requests.
func (c *connectionLimiter) connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connectionOf(conn))
}

// connectionOf finds the connection below TLS.
func connectionOf(conn net.Conn) *connection {
	for {
		switch c := conn.(type) {
		case *connection:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

func connectionFrom(r *http.Request) *connection {
	v, _ := r.Context().Value(connectionKey{}).(*connection)
	return v
}

// changed closes connections that become idle while the server shuts down: the
// library would wait for one that has not sent anything yet.
func (c *connectionLimiter) changed(conn net.Conn, state http.ConnState) {
	if state != http.StateNew && state != http.StateIdle {
		return
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		_ = conn.Close()
	}
}
