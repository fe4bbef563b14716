package sink

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// link is a connection to a peer, made when it is needed and made anew when it
// has failed.
type link struct {
	network, address string
	tls              *tls.Config // nil: none

	conn net.Conn     // nil: none
	gone *atomic.Bool // the peer of conn has closed its end
}

// open gives the connection.
func (l *link) open(ctx context.Context) (net.Conn, error) {
	if l.conn != nil && !l.gone.Load() {
		return l.conn, nil
	}
	l.close()
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, l.network, l.address)
	if err == nil && l.tls != nil {
		secured := tls.Client(conn, l.tls)
		if err = secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
		}
		conn = secured
	}
	if err != nil {
		return nil, err
	}
	l.conn, l.gone = conn, &atomic.Bool{}
	if l.stream() {
		go watch(conn, l.gone)
	}
	return conn, nil
}

func (l *link) stream() bool { return l.network == "tcp" }

// watch notices that a peer has closed its end, which writing would notice one
// message too late. It ends with the connection.
func watch(conn net.Conn, gone *atomic.Bool) {
	_, _ = io.Copy(io.Discard, conn)
	gone.Store(true)
}

// write sends data whole, or closes the connection: half a message would spoil
// what follows.
func (l *link) write(ctx context.Context, data []byte) error {
	conn, err := l.open(ctx)
	if err != nil {
		return err
	}
	_ = conn.SetWriteDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err = conn.Write(data); err != nil {
		l.close()
	}
	return err
}

func (l *link) close() {
	if l.conn != nil {
		_ = l.conn.Close()
		l.conn = nil
	}
}

// tooLong reports whether a datagram was larger than the socket takes.
func tooLong(err error) bool { return errors.Is(err, errTooLong) }
