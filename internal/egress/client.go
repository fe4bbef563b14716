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

// client is the connection of a program. It remembers the header of its
// request as it was written, because net/http tells neither the Host of a
// request to a proxy nor lengths that contradict each other.
type client struct {
	net.Conn
	door    *door
	closing atomic.Bool

	mu   sync.Mutex
	open bool // the header has not ended yet
	head []byte
	last time.Time // no read lasts longer, once this is set
}

type clientKey struct{}

func clientOf(ctx context.Context) *client {
	c, _ := ctx.Value(clientKey{}).(*client)
	return c
}

// Read also keeps what it reads until the header has ended. net/http bounds the
// header, and with it what is kept.
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

// blankLine is where the header ends: behind the line end before the first
// empty line. It is negative when there is none.
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

// header gives the header as it was written, and whether its end has come.
func (c *client) header() (head []byte, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole = !c.open
	c.open = false
	head, c.head = c.head, nil
	return head, whole
}

// hearOut bounds the time in which the rest of a request is read that has its
// answer. net/http would take all the time of the world: it lifts a deadline
// when it interrupts a read of the body, and then reads on.
func (c *client) hearOut(rest time.Duration) {
	c.mu.Lock()
	c.last = time.Now().Add(rest)
	c.mu.Unlock()
	_ = c.SetReadDeadline(time.Time{})
}

// SetReadDeadline sets no time beyond the end of hearing out.
func (c *client) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last.IsZero() && (t.IsZero() || t.After(c.last)) {
		t = c.last
	}
	return c.Conn.SetReadDeadline(t)
}

// Write gives up when the program does not read for the idle time.
func (c *client) Write(p []byte) (int, error) {
	_ = c.Conn.SetWriteDeadline(time.Now().Add(c.door.proxy.o.IdleTimeout))
	return c.Conn.Write(p)
}

// CloseWrite tells the program that nothing more comes.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

// A program that is still sending when its connection closes would lose the
// answer to the reset that follows. So it is heard out, within these bounds.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// Close hears the program out; a second call, which may come from elsewhere
// meanwhile, ends that.
func (c *client) Close() error {
	if !c.closing.CompareAndSwap(false, true) {
		return c.Conn.Close()
	}
	defer c.door.gone()
	if half, ok := c.Conn.(halfCloser); ok && !c.door.ending.Load() {
		c.hearOut(lingerTime)
		if half.CloseWrite() == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}

// cut ends the connection at once. It still wants to be closed.
func (c *client) cut() { _ = c.Conn.Close() }

type halfCloser interface{ CloseWrite() error }

// closeWrite ends one direction, or both where there is no such thing.
func closeWrite(c net.Conn) error {
	if half, ok := c.(halfCloser); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// patient is a connection to a host. It fails when for the idle time nothing
// moves in either direction.
type patient struct {
	net.Conn
	idle time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	_ = p.SetDeadline(time.Now().Add(p.idle))
	return p.Conn.Read(b)
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.SetDeadline(time.Now().Add(p.idle))
	return p.Conn.Write(b)
}

func (p *patient) CloseWrite() error { return closeWrite(p.Conn) }
