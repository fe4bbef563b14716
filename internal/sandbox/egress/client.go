package egress

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// client is the connection of a program. It keeps the request's header as sent,
// because net/http reports neither the Host field of a request to a proxy nor
// contradicting lengths.
type client struct {
	net.Conn
	listener *sessionListener
	closing  atomic.Bool

	mu   sync.Mutex
	open bool // the header is not complete yet
	head []byte
	last time.Time // if set, no read lasts longer
}

type clientKey struct{}

func clientOf(ctx context.Context) *client {
	c, _ := ctx.Value(clientKey{}).(*client)
	return c
}

// Read also keeps what it reads until the header is complete. net/http bounds
// the header, and with it what is kept.
func (c *client) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open {
		seen := max(len(c.head)-len("\n\r"), 0)
		c.head = append(c.head, p[:n]...)
		if end := blankLine(c.head[seen:]); end >= 0 {
			c.head = c.head[:seen+end]
			c.open = false
		}
	}
	return n, err
}

// blankLine returns the end of the header: the offset after the first empty
// line; negative if there is none.
func blankLine(p []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(p[from:], '\n')
		if i < 0 {
			return -1
		}
		from += i + 1
		if rest := p[from:]; bytes.HasPrefix(rest, []byte("\n")) || bytes.HasPrefix(rest, []byte("\r\n")) {
			return from
		}
	}
}

// header returns the header as sent, and whether it is complete.
func (c *client) header() (head []byte, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole = !c.open
	c.open = false
	head, c.head = c.head, nil
	return head, whole
}

// drain bounds the time for reading the rest of a request that has already
// been answered. net/http would set no bound: it clears the deadline when it
// interrupts a read of the body, and then reads on.
func (c *client) drain(rest time.Duration) {
	c.mu.Lock()
	c.last = time.Now().Add(rest)
	c.mu.Unlock()
	_ = c.SetReadDeadline(time.Time{})
}

// SetReadDeadline limits the deadline to the one set by drain.
func (c *client) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last.IsZero() && (t.IsZero() || t.After(c.last)) {
		t = c.last
	}
	return c.Conn.SetReadDeadline(t)
}

// Write fails if the program does not read for the idle time.
func (c *client) Write(p []byte) (int, error) {
	_ = c.Conn.SetWriteDeadline(time.Now().Add(c.listener.proxy.o.IdleTimeout))
	return c.Conn.Write(p)
}

// CloseWrite tells the program that no more data follows.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

// If a connection closes while the program is still sending, the reset makes
// the program lose the answer. So Close first reads what the program sends,
// within these bounds.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// Close reads the rest of the request, and closes the connection. A second
// call, which may be concurrent, ends the reading.
func (c *client) Close() error {
	if !c.closing.CompareAndSwap(false, true) {
		return c.Conn.Close()
	}
	defer c.listener.connClosed()
	if half, ok := c.Conn.(halfCloser); ok && !c.listener.closing.Load() {
		c.drain(lingerTime)
		if half.CloseWrite() == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}

// cut ends the connection at once. Close must still be called.
func (c *client) cut() { _ = c.Conn.Close() }

type halfCloser interface{ CloseWrite() error }

// closeWrite closes one direction, or both if the connection cannot do that.
func closeWrite(c net.Conn) error {
	if half, ok := c.(halfCloser); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// patient is a connection to a host. It fails if no data moves in either
// direction for the idle time.
type patient struct {
	net.Conn
	idle time.Duration
}

// Read reads, and extends the deadline of both directions.
func (p *patient) Read(b []byte) (int, error) {
	_ = p.SetDeadline(time.Now().Add(p.idle))
	return p.Conn.Read(b)
}

// Write writes, and extends the deadline of both directions.
func (p *patient) Write(b []byte) (int, error) {
	_ = p.SetDeadline(time.Now().Add(p.idle))
	return p.Conn.Write(b)
}

// CloseWrite ends the stream to the peer, and leaves that from the peer open.
func (p *patient) CloseWrite() error { return closeWrite(p.Conn) }
