package sink

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// reacher is a sink whose peer can be reached without sending a message.
type reacher interface {
	reach(ctx context.Context) error
}

// Reached says whether the peer of one sink could be reached.
type Reached struct {
	Name string // of the sink; contains no secret
	Err  error  // why the peer could not be reached; also nil for a sink without a peer, such as a stream
}

// Reach connects to the peers of all sinks concurrently, with a TLS handshake
// if they use TLS, and disconnects. It sends no record. Over UDP it cannot
// detect whether a peer exists, but it reports an address that cannot be
// resolved.
func Reach(ctx context.Context, sinks []Sink) []Reached {
	all := make([]Reached, len(sinks))
	var trying sync.WaitGroup
	for i, s := range sinks {
		all[i].Name = s.Name()
		if r, ok := s.(reacher); ok {
			trying.Go(func() { all[i].Err = r.reach(ctx) })
		}
	}
	trying.Wait()
	return all
}

func (l *link) reach(ctx context.Context) error {
	defer l.close()
	_, err := l.open(ctx)
	return err
}

func (s *Syslog) reach(ctx context.Context) error  { return s.link.reach(ctx) }
func (j *Journal) reach(ctx context.Context) error { return j.link.reach(ctx) }
func (w *Webhook) reach(ctx context.Context) error { return w.poster.reach(ctx) }
func (o *OTLP) reach(ctx context.Context) error    { return o.poster.reach(ctx) }

func (p *poster) reach(ctx context.Context) error {
	host, port, secure := p.address.Hostname(), p.address.Port(), p.address.Scheme == "https"
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[secure]
	}
	conn, err := p.dial(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if !secure {
		return nil
	}
	config := p.tls.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if config.ServerName == "" {
		config.ServerName = host
	}
	return tls.Client(conn, config).HandshakeContext(ctx)
}
