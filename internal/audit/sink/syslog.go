package sink

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strconv"
)

// Syslog sends messages in the format of RFC 5424: one in each datagram, or
// over TCP with the octet counting of RFC 6587.
type Syslog struct {
	name   string
	link   link
	header syslogHeader
}

// NewSyslog returns a sink to the daemon at an address: network is "unixgram",
// "udp" or "tcp". secure is for "tcp" and may be nil.
func NewSyslog(name, network, address string, secure *tls.Config) *Syslog {
	host, _ := os.Hostname() // if it fails, the host is written as unknown
	return &Syslog{
		name:   name,
		link:   link{network: network, address: address, tls: secure, dialer: newDialer()},
		header: syslogHeader{host: host, pid: strconv.Itoa(os.Getpid())},
	}
}

// Name returns the address from the setting.
func (s *Syslog) Name() string { return s.name }

// Limits bounds a batch, which is one write over TCP.
func (*Syslog) Limits() BatchLimits { return BatchLimits{Count: 64, Bytes: 256 << 10} }

// Send writes the messages. If a TCP connection did not accept a whole batch,
// it is unknown how much arrived, so the pump sends all of it again.
func (s *Syslog) Send(ctx context.Context, batch []Message) (int, error) {
	if s.link.stream() {
		var frames []byte
		for _, m := range batch {
			text := s.header.format(m)
			frames = append(append(strconv.AppendInt(frames, int64(len(text)), 10), ' '), text...)
		}
		if err := s.link.write(ctx, frames); err != nil {
			return 0, err
		}
		return len(batch), nil
	}
	for i, m := range batch {
		if err := s.link.write(ctx, s.header.format(m)); err != nil {
			if tooLong(err) {
				err = fmt.Errorf("%w: %v", errRefused, err)
			}
			return i, err
		}
	}
	return len(batch), nil
}

// Close closes the socket.
func (s *Syslog) Close() error {
	s.link.close()
	return nil
}
