package egress

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
)

// isTLS reports by its first byte whether a connection uses TLS. All content
// types count, not only that of a ClientHello, because there are servers that
// ignore an alert before it. No other protocol begins with one of these bytes.
func isTLS(first byte) bool { return 0x14 <= first && first <= 0x18 }

// maxHello bounds what is read of a ClientHello, in any number of records. Real
// ones have less than 4 KiB.
const maxHello = 128 << 10

var (
	errHelloRead = errors.New("the ClientHello has been read")
	errHelloLong = errors.New("too long")
	errNotHello  = errors.New("no ClientHello")
)

// readHello reads a ClientHello from r, and returns what it read and the server
// name, which may be empty. crypto/tls parses it, and is stopped before it
// answers; conn is only used for its addresses. An error is errNotHello, unless
// r failed.
func readHello(conn net.Conn, r io.Reader) (read []byte, name string, err error) {
	ear := &helloReader{Conn: conn, from: r}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, // not reached
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, errHelloRead
		},
	}
	err = tls.Server(ear, config).Handshake()
	switch {
	case errors.Is(err, errHelloRead):
		return ear.bytes, name, nil
	case ear.err != nil:
		return nil, "", ear.err
	default:
		return nil, "", fmt.Errorf("%w: %w", errNotHello, err)
	}
}

// helloReader is a connection that reads from the program and writes nothing.
type helloReader struct {
	net.Conn
	from  io.Reader
	bytes []byte
	err   error // of from
}

// Read reads from the program, and keeps what it has read for the host. It
// fails after maxHello bytes, because a program could send a handshake without
// an end.
func (e *helloReader) Read(p []byte) (int, error) {
	if len(e.bytes) >= maxHello {
		return 0, errHelloLong
	}
	n, err := e.from.Read(p)
	e.bytes = append(e.bytes, p[:n]...)
	e.err = err
	return n, err
}

// Write discards: the handshake is only read here, and crypto/tls would answer
// it with an alert.
func (e *helloReader) Write(p []byte) (int, error) { return len(p), nil }

// unrecognizedName is the TLS alert for a server name that is not served here,
// in a record of its own (RFC 8446, 6.2).
var unrecognizedName = []byte{0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 112}
