package httpfront

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// crowd bounds the connections. When there are as many as there may be, a new one
// takes the place of the one that has been without a request of a known caller
// for the longest: so nobody keeps others out by being slow. Those that are being
// served stay, and when there are only such, a new one is sent away.
type crowd struct {
	most int

	mu      sync.Mutex
	closed  bool
	waiting *list.List // of *visitor, the one that has waited longest in front
	serving int        // visitors that are not among them
}

// visitor is one connection.
type visitor struct {
	net.Conn
	crowd *crowd
	place *list.Element // in waiting; nil while served or gone
	busy  int           // requests that are being answered
	gone  bool

	// Who is at the other end of a Unix socket; it stays the same.
	asked   sync.Once
	user    int
	unknown error
}

func newCrowd(most int) *crowd { return &crowd{most: most, waiting: list.New()} }

// listener lets in as many as there may be.
func (c *crowd) listener(l net.Listener) net.Listener { return &door{Listener: l, crowd: c} }

type door struct {
	net.Listener
	crowd *crowd
}

func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if v := d.crowd.enter(conn); v != nil {
			return v, nil
		}
		_ = conn.Close()
	}
}

// enter gives a connection a place; nil if there is none.
func (c *crowd) enter(conn net.Conn) *visitor {
	v := &visitor{Conn: conn, crowd: c}
	out := c.admit(v)
	if out != nil {
		_ = out.Close()
	}
	if v.gone {
		return nil
	}
	return v
}

// admit takes v in, and says who has to go for that.
func (c *crowd) admit(v *visitor) (out *visitor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.serving >= c.most {
		v.gone = true
		return nil
	}
	if c.serving+c.waiting.Len() >= c.most {
		out, _ = c.waiting.Front().Value.(*visitor) // nothing else is put there
		c.leave(out)
	}
	v.place = c.waiting.PushBack(v)
	return out
}

// leave needs the lock.
func (c *crowd) leave(v *visitor) {
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

// Close gives the place back.
func (v *visitor) Close() error {
	v.crowd.mu.Lock()
	v.crowd.leave(v)
	v.crowd.mu.Unlock()
	return v.Conn.Close()
}

// NetConn is the connection itself.
func (v *visitor) NetConn() net.Conn { return v.Conn }

// serve keeps a visitor's place while a request of a known caller is answered.
func (v *visitor) serve() (done func()) {
	c := v.crowd
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

// sendAway closes the connections that have no request, and lets nobody in.
func (c *crowd) sendAway() {
	c.mu.Lock()
	c.closed = true
	var out []*visitor
	for e := c.waiting.Front(); e != nil; e = e.Next() {
		if v, ok := e.Value.(*visitor); ok {
			out = append(out, v)
		}
	}
	c.mu.Unlock()
	for _, v := range out {
		_ = v.Close()
	}
}

type visitorKey struct{}

// connContext tells the requests of a connection which one it is.
func (c *crowd) connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, visitorKey{}, visitorOf(conn))
}

// visitorOf finds the visitor below TLS.
func visitorOf(conn net.Conn) *visitor {
	for {
		switch c := conn.(type) {
		case *visitor:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

func visitorFrom(r *http.Request) *visitor {
	v, _ := r.Context().Value(visitorKey{}).(*visitor)
	return v
}

// changed sends those away that come to rest while the server ends: the library
// would wait for one that has not said anything yet.
func (c *crowd) changed(conn net.Conn, state http.ConnState) {
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
