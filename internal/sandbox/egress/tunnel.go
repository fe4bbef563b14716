package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// tunnel carries bytes between a program and the host that it asked for.
//
// The two directions do not wait for each other. What the host sends is passed
// on at once, so a protocol in which the server speaks first needs no special
// case. The first data of the program is checked whenever it arrives, so there
// is no timeout after which it would pass unchecked.
type tunnel struct {
	listener         *sessionListener
	target           target
	client, upstream net.Conn
	fromClient       io.Reader // what net/http has read from the program already, then the rest

	mu    sync.Mutex
	ended bool
}

// tunnel serves CONNECT. After the first byte of its answer it returns no
// error.
func (d *sessionListener) tunnel(w http.ResponseWriter, r *http.Request, t target, upstream net.Conn) error {
	_, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return unreachable(t, err)
	}
	conn := clientOf(r.Context())
	early, _ := rw.Reader.Peek(rw.Reader.Buffered())
	tn := &tunnel{
		listener: d, target: t, client: conn, upstream: upstream,
		fromClient: io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn),
	}
	over := make(chan struct{})
	stop := context.AfterFunc(r.Context(), func() {
		defer close(over)
		_ = upstream.Close()
		conn.cut()
	})
	defer func() {
		if !stop() {
			<-over
		}
	}()
	defer tn.end()
	tn.run(r.Context())
	return nil
}

// run carries bytes both ways until one side ends. What the host sends is
// carried at once; what the program sends only after greet has read its first
// bytes, because a TLS handshake that names another host than CONNECT did must
// not leave.
func (t *tunnel) run(ctx context.Context) {
	t.touch()
	if _, err := io.WriteString(t.client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	down := make(chan struct{})
	go func() {
		defer close(down)
		t.copy(t.client, t.upstream)
	}()
	if t.greet(ctx) {
		t.copy(t.upstream, t.fromClient)
	}
	<-down
}

// greet passes on the first data of the program, unless it is a ClientHello
// with another server name (hello.go). It reports whether more may follow.
func (t *tunnel) greet(ctx context.Context) bool {
	buf := make([]byte, chunk)
	n, err := t.fromClient.Read(buf)
	first := buf[:n]
	if n > 0 && isTLS(first[0]) && t.target.name != "" {
		first, err = t.hello(first)
	}
	var a *answer
	switch {
	case errors.As(err, &a):
		t.listener.report(ctx, a)
		_, _ = t.client.Write(unrecognizedName)
		t.end()
		return false
	case err != nil && !errors.Is(err, io.EOF):
		t.end()
		return false
	}
	t.touch()
	if _, err := t.upstream.Write(first); err != nil {
		t.end()
		return false
	}
	return true // if it was the end, copy sees it again and passes it on
}

// hello reads the rest of a ClientHello and compares its server name with the
// target.
func (t *tunnel) hello(first []byte) ([]byte, error) {
	_ = t.client.SetReadDeadline(time.Now().Add(t.listener.proxy.o.HeaderTimeout))
	read, name, err := readHello(t.client, io.MultiReader(bytes.NewReader(first), t.fromClient))
	switch {
	case errors.Is(err, errNotHello):
		a := forbidden(badTLSName, t.target, "host %s was to be sent TLS that begins without a readable ClientHello", t.target.host())
		a.err = err
		return nil, a
	case err != nil:
		return nil, err
	case name == "" || lower(name) == t.target.name: // without a name, the host chooses the server
		return read, nil
	}
	return nil, forbidden(badTLSName, t.target, "host %s was to be asked for another one by its TLS name (SNI); CONNECT to the host that is meant", t.target.host())
}

const chunk = 32 << 10

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// copy carries one direction until it ends, and passes the end on. If it fails,
// the other direction fails as well.
func (t *tunnel) copy(to net.Conn, from io.Reader) {
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	for {
		n, err := from.Read(buf[:])
		if n > 0 {
			t.touch()
			if _, err := to.Write(buf[:n]); err != nil {
				t.end()
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			t.touch()
			_ = closeWrite(to)
			return
		case err != nil:
			t.end()
			return
		}
	}
}

// touch restarts the idle time of both directions.
func (t *tunnel) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	deadline := time.Now().Add(t.listener.proxy.o.IdleTimeout)
	_ = t.client.SetDeadline(deadline)
	_ = t.upstream.SetDeadline(deadline)
}

// end closes both connections, once.
func (t *tunnel) end() {
	t.mu.Lock()
	ended := t.ended
	t.ended = true
	t.mu.Unlock()
	if !ended {
		_ = t.upstream.Close()
		_ = t.client.Close()
	}
}
