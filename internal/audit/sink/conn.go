package sink

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"tipstaff/internal/peer"
)

// newDialer makes what connects to peers.
func newDialer() *peer.Dialer { return &peer.Dialer{Dialer: net.Dialer{Timeout: 5 * time.Second}} }

// link is a connection to a peer. It is opened when it is needed, and again
// after a failure.
type link struct {
	network, address string
	tls              *tls.Config // nil: without TLS
	dialer           *peer.Dialer

	conn net.Conn     // nil: not connected
	gone *atomic.Bool // the peer of conn has closed its end
}

// open returns the connection, and connects if necessary.
func (l *link) open(ctx context.Context) (net.Conn, error) {
	if l.conn != nil && !l.gone.Load() {
		return l.conn, nil
	}
	l.close()
	dial := l.dialer.DialContext
	if l.tls != nil { // a certificate says who it is
		dial = l.dialer.Dialer.DialContext
	}
	conn, err := dial(ctx, l.network, l.address)
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

// watch sets gone when the peer has closed its end. Writing would notice that
// one message too late. It ends with the connection.
func watch(conn net.Conn, gone *atomic.Bool) {
	_, _ = io.Copy(io.Discard, conn)
	gone.Store(true)
}

// write sends all of data, or closes the connection, because a partial message
// would corrupt what follows.
func (l *link) write(ctx context.Context, data []byte) error {
	conn, err := l.open(ctx)
	if err != nil {
		return err
	}
	if l.network == "udp" {
		if err := l.dialer.Check(conn); err != nil {
			return err
		}
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

// tooLong reports whether a datagram was larger than the socket accepts.
func tooLong(err error) bool { return errors.Is(err, errTooLong) }
