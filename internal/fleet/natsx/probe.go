package natsx

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// SlowPings is the gap between two pings of a server beyond which it notices a
// silent peer too late: it closes a connection after two of them.
const SlowPings = 5 * time.Second

// ServerPings measures the gap between two pings of a server, as a client that
// says nothing of its own; 0 means that no second one came within SlowPings of the
// first, or before the context ended.
func ServerPings(ctx context.Context, o Options) (time.Duration, error) {
	opts, err := o.natsOptions()
	if err != nil {
		return 0, err
	}
	w := &writes{at: make(chan time.Time, 16)}
	opts = append(opts, nats.PingInterval(time.Hour), nats.NoReconnect(), nats.RetryOnFailedConnect(false), nats.SetCustomDialer(w))
	nc, err := nats.Connect(o.Servers[0], opts...)
	if err != nil {
		return 0, fmt.Errorf("cannot connect to the engine: %w", err)
	}
	defer nc.Close()
	w.begin() // from here on this client only writes the answers to pings
	end := time.NewTimer(2 * SlowPings)
	defer end.Stop()
	var first time.Time
	for {
		select {
		case at := <-w.at:
			if !first.IsZero() {
				return at.Sub(first), nil
			}
			first = at
			end.Reset(SlowPings)
		case <-end.C:
			return 0, nil
		case <-ctx.Done():
			return 0, nil
		}
	}
}

// writes is a dialer whose connections tell when they are written to.
type writes struct {
	at chan time.Time

	mu    sync.Mutex
	begun bool
}

func (w *writes) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = true
}

// Dial is what the library calls in place of net.Dial.
func (w *writes) Dial(network, address string) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, dialTimeout)
	return &watched{c, w}, err
}

type watched struct {
	net.Conn

	writes *writes
}

func (c *watched) Write(b []byte) (int, error) {
	c.writes.mu.Lock()
	begun := c.writes.begun
	c.writes.mu.Unlock()
	if begun {
		select {
		case c.writes.at <- time.Now():
		default:
		}
	}
	return c.Conn.Write(b)
}
