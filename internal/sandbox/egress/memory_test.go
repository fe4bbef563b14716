package egress

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memory is a network inside a bubble: connections like TCP's, with buffers,
// deadlines and directions that end one by one, but made of memory, so that the
// bubble's clock moves when all goroutines wait.
type memory struct {
	waiting chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func newMemory() *memory {
	return &memory{waiting: make(chan net.Conn), closed: make(chan struct{})}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.waiting:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.closed) }); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{} }

func (m *memory) dial() (net.Conn, error) {
	here, there := memoryConns()
	select {
	case m.waiting <- there:
		return here, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func memoryConns() (a, b *memoryConn) {
	x, y := newStream(), newStream()
	return &memoryConn{in: x, out: y}, &memoryConn{in: y, out: x}
}

type memoryConn struct{ in, out *stream }

func (c *memoryConn) Read(p []byte) (int, error)         { return c.in.read(p) }
func (c *memoryConn) Write(p []byte) (int, error)        { return c.out.write(p) }
func (c *memoryConn) CloseWrite() error                  { c.out.end(false); return nil }
func (c *memoryConn) Close() error                       { c.out.end(false); c.in.end(true); return nil }
func (c *memoryConn) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr               { return &net.TCPAddr{} }
func (c *memoryConn) SetReadDeadline(t time.Time) error  { return c.in.until(&c.in.reading, t) }
func (c *memoryConn) SetWriteDeadline(t time.Time) error { return c.out.until(&c.out.writing, t) }
func (c *memoryConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// stream is one direction.
type stream struct {
	mu               sync.Mutex
	changed          *sync.Cond
	buf              []byte
	ended, unwanted  bool // by the writer, by the reader
	reading, writing deadline
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d deadline) over() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

const streamRoom = 64 << 10

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.unwanted:
			return 0, net.ErrClosed
		case s.reading.over():
			return 0, os.ErrDeadlineExceeded
		case len(s.buf) > 0:
			n := copy(p, s.buf)
			s.buf = s.buf[n:]
			s.changed.Broadcast()
			return n, nil
		case s.ended:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n < len(p) {
		switch {
		case s.ended, s.unwanted:
			return n, net.ErrClosed
		case s.writing.over():
			return n, os.ErrDeadlineExceeded
		case len(s.buf) < streamRoom:
			k := min(streamRoom-len(s.buf), len(p)-n)
			s.buf = append(s.buf, p[n:n+k]...)
			n += k
			s.changed.Broadcast()
		default:
			s.changed.Wait()
		}
	}
	return n, nil
}

func (s *stream) end(byReader bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if byReader {
		s.unwanted = true
	} else {
		s.ended = true
	}
	s.changed.Broadcast()
}

func (s *stream) until(d *deadline, t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	*d = deadline{at: t}
	if !t.IsZero() && !d.over() {
		d.timer = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Broadcast()
	return nil
}
