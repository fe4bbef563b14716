package natsx

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrUnavailable says that there is no connection to the engine now. What was to be sent
// was not sent, and will not be.
var ErrUnavailable = errors.New("the engine cannot be reached now")

// ErrTooLarge says that a message is larger than the engine's servers take ([Conn.MaxPayload]).
var ErrTooLarge = errors.New("the message is larger than the engine takes")

// Conn is a connection to the engine. All methods may run at once.
type Conn struct {
	nc  *nats.Conn
	js  jetstream.JetStream
	opt Options

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change of the state
	why     error         // why there is no connection
	up      time.Time     // when the connection was made; zero: there is none

	signer      *Signer // of what it leaves in JetStream; nil: it has no key
	keysMu      sync.Mutex
	members     members
	firsts      map[string]string // by the subject of a trail: the key that began it
	toldForeign time.Time

	refused atomic.Int64 // messages and subscriptions that the servers' permissions refused
	foreign atomic.Int64 // messages that no member can have sent, and what is not signed by its member
	dropped atomic.Int64 // times that messages were dropped because their reader was too slow
}

// Connect begins to connect and returns at once, also when no server can be
// reached: [Conn.Wait] waits, [Conn.State] tells, and attempts go on until Close.
// The error says what is wrong with the options or their files. The context is
// not kept.
func Connect(_ context.Context, o Options) (*Conn, error) {
	opts, err := o.natsOptions()
	if err != nil {
		return nil, err
	}
	c := &Conn{opt: o, changed: make(chan struct{}), why: errors.New("not connected yet"), firsts: map[string]string{}}
	if o.Credentials != "" {
		if c.signer, err = NewSigner(o.Credentials, Address{Name: o.Name}, time.Now); err != nil {
			return nil, err
		}
	}
	opts = append(opts,
		nats.ConnectHandler(func(nc *nats.Conn) { c.isUp(nc) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { c.isUp(nc) }),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) { c.isDown(nc, err) }),
		nats.ReconnectErrHandler(func(nc *nats.Conn, err error) { c.isDown(nc, err) }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { c.fault(sub, err) }),
	)
	c.nc, err = nats.Connect(strings.Join(o.Servers, ","), opts...)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the engine: %w", err)
	}
	if c.js, err = jetstream.New(c.nc); err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("cannot connect to the engine: %w", err)
	}
	if c.nc.IsConnected() {
		c.isUp(c.nc)
	}
	return c, nil
}

// pause is how long to wait before the next round through the servers.
func pause(attempts int) time.Duration {
	d := min(firstPause<<min(attempts, 10), longestPause)
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter is no secret
}

// State tells whether there is a connection: nil, or why there is none. The error
// is an [ErrUnavailable].
func (c *Conn) State() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.up.IsZero() {
		return nil
	}
	return fmt.Errorf("%w (%s): %w", ErrUnavailable, strings.Join(c.opt.Servers, ", "), c.why)
}

// UpSince is when the present connection was made; zero: there is none. "Nobody
// listens" has to be asked again when it is said shortly after: peers that the
// same break has cut off need as long to come back.
func (c *Conn) UpSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up
}

// Changed is closed at the next change of [Conn.State].
func (c *Conn) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Wait returns when there is a connection, or with the reason why there is none
// when the context ends.
func (c *Conn) Wait(ctx context.Context) error {
	for {
		changed := c.Changed()
		if c.State() == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return c.State()
		}
	}
}

// Refused counts what the servers' permissions have refused this member: more
// than 0 means that its key is for something else than it does.
func (c *Conn) Refused() int64 { return c.refused.Load() }

// Foreign counts messages that no member has sent, and what is in JetStream without the
// signature of its member. They were passed over: more than 0 means that a key is misused.
func (c *Conn) Foreign() int64 { return c.foreign.Load() }

// Dropped counts how often messages were dropped because a handler was too slow.
func (c *Conn) Dropped() int64 { return c.dropped.Load() }

// MaxPayload is the size of the largest message that the servers take, in bytes;
// 0 before the first connection.
func (c *Conn) MaxPayload() int64 { return c.nc.MaxPayload() }

// Server is the server that this is connected to, for people; "" if none.
func (c *Conn) Server() string { return c.nc.ConnectedUrlRedacted() }

// Move leaves the present server for another one. A server that has lost its
// peers keeps its clients and looks well from here; a caller that hears nothing
// back although it is connected moves.
func (c *Conn) Move(why string) error {
	if log := c.opt.Log; log != nil {
		log.Warn("leaving a server of the engine for another", "server", c.Server(), "why", why)
	}
	if err := c.nc.ForceReconnect(); err != nil {
		return fmt.Errorf("cannot leave the engine's server: %w", err)
	}
	return nil
}

// Close ends the connection and all subscriptions, and drops what was not yet
// handled. Flush first what has to arrive.
func (c *Conn) Close() { c.nc.Close() }

// Closed reports whether Close was called.
func (c *Conn) Closed() bool { return c.nc.IsClosed() }

func (c *Conn) isUp(nc *nats.Conn) {
	if c.set(nil) && c.opt.Log != nil {
		c.opt.Log.Info("connected to the engine", "server", nc.ConnectedUrlRedacted())
	}
}

func (c *Conn) isDown(nc *nats.Conn, err error) {
	if err == nil {
		err = errors.New("the connection ended")
	}
	c.set(err)
	if c.opt.Log != nil && !nc.IsClosed() {
		c.opt.Log.Warn("the engine cannot be reached; it is tried again", "servers", strings.Join(c.opt.Servers, ","), "why", err.Error())
	}
}

// set keeps the state and reports whether there is a connection now that was not
// there before.
func (c *Conn) set(why error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.up
	c.why = why
	if why != nil {
		c.up = time.Time{}
	} else if was.IsZero() {
		c.up = time.Now()
	}
	if was != c.up {
		close(c.changed)
		c.changed = make(chan struct{})
	}
	return was.IsZero() && why == nil
}

// fault takes what the library reports outside of calls.
func (c *Conn) fault(sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	switch {
	case errors.Is(err, nats.ErrSlowConsumer):
		c.dropped.Add(1)
	case errors.Is(err, nats.ErrPermissionViolation):
		c.refused.Add(1)
	}
	if c.opt.Log != nil {
		c.opt.Log.Warn("the engine reports a fault", "subject", subject, "why", err.Error())
	}
}
