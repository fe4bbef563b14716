package natsx

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// leaseBucket is the key-value bucket of leases and pulses; its stream is
// KV_tip1_runners. A value disappears LeaseTTL after it was last written.
const (
	leaseBucket = "tip1_runners"
	leaseStream = "KV_" + leaseBucket
	leaseKeys   = "$KV." + leaseBucket + "."
	// leaseNews is where the server tells each write of the bucket.
	leaseNews = prefix + ".l."
)

// LeaseTTL is how long a lease lasts that is not renewed.
const LeaseTTL = 30 * time.Second

// makeLeases makes the bucket if it is not there.
func (c *Conn) makeLeases(ctx context.Context, replicas int) error {
	return c.makeBucket(ctx, "leases", jetstream.StreamConfig{
		Name: leaseStream, Description: "leases of tipstaff's runners and pulses of its gateways", Subjects: []string{leaseKeys + ">"},
		MaxAge: LeaseTTL, Storage: jetstream.MemoryStorage, Replicas: replicas,
		RePublish: &jetstream.RePublish{Source: leaseKeys + ">", Destination: leaseNews + ">"},
	})
}

// makeBucket makes a stream with one message a subject if it is not there. A key-value
// bucket of the library would take roll-ups as well, by which a member that may write one
// key removes all others.
func (c *Conn) makeBucket(ctx context.Context, of string, o jetstream.StreamConfig) error {
	o.MaxMsgsPerSubject, o.Discard, o.DenyDelete, o.DenyPurge, o.AllowDirect = 1, jetstream.DiscardNew, true, true, true
	_, err := c.js.CreateStream(ctx, o)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // a bound may be another one
		var s jetstream.Stream
		if s, err = c.js.Stream(ctx, o.Name); err == nil {
			if is := s.CachedInfo().Config; is.MaxMsgsPerSubject != 1 || is.AllowRollup || !is.DenyDelete || !is.DenyPurge || is.DiscardNewPerSubject != o.DiscardNewPerSubject || (is.RePublish == nil) != (o.RePublish == nil) {
				err = errors.New("it is not as this release makes it, so that what is there could be written over, or is not told: remove it (nats stream rm " + o.Name + "), and gateways make it anew")
			}
		}
	}
	if err != nil {
		return fmt.Errorf("cannot make the bucket of %s: %w", of, plain(err))
	}
	return nil
}

func leaseKey(role Role, a Address) string { return role.letter() + "." + a.String() }

// PutLease writes or renews what a member holds: a runner its lease, a gateway
// its pulse. Each incarnation writes to a key of its own, without a condition: a
// write that timed out and is applied later says nothing that was not so. It
// returns the sequence in the bucket, which grows with each write of any member.
func (c *Conn) PutLease(ctx context.Context, a Address, value []byte) (sequence uint64, err error) {
	ack, err := c.js.PublishMsg(ctx, c.sign(natsMsg(leaseKeys+leaseKey(c.opt.Role, a), value)), jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, streamError("cannot write a lease", err)
	}
	return ack.Sequence, nil
}

// DropLease gives a lease back.
func (c *Conn) DropLease(ctx context.Context, a Address) error {
	m := natsMsg(leaseKeys+leaseKey(c.opt.Role, a), nil)
	m.Header.Set("KV-Operation", "DEL")
	if _, err := c.js.PublishMsg(ctx, c.sign(m), jetstream.WithRetryAttempts(0)); err != nil {
		return streamError("cannot give a lease back", err)
	}
	return nil
}

// LeaseChange is one write of the bucket.
type LeaseChange struct {
	Role     Role
	Member   Address
	Sequence uint64    // grows with each write of any member
	Time     time.Time // by the server's clock
	Value    []byte    // nil: the lease was given back
}

// WatchLeases hands take every lease of a runner that is held and the pulse of
// the gateway self, and then each write of them in the order in which the servers
// took them, until the context ends or the watch fails. A write may be left out; the
// next renewal of its key is not. A lease that merely ends unrenewed is not told: the
// absence of renewals is, as long as the watcher's own pulses come back here.
//
// It asks for no consumer, which could deliver to any subject of the engine's account.
func (c *Conn) WatchLeases(ctx context.Context, self Address, take func(LeaseChange)) error {
	news := make(chan *nats.Msg, pendingMessages)
	var subs []*nats.Subscription
	defer func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe()
		}
	}()
	for _, subject := range []string{Runner.letter() + ".>", leaseKey(Gateway, self)} {
		sub, err := c.nc.ChanSubscribe(leaseNews+subject, news)
		if err != nil {
			return streamError("cannot watch the leases", plain(err))
		}
		subs = append(subs, sub)
	}
	if err := c.Flush(ctx); err != nil {
		return streamError("cannot watch the leases", err)
	}
	var last uint64
	tell := func(m StoredCopy) {
		if m.Sequence <= last {
			return // what was there was told already
		}
		last = m.Sequence
		if p, ok := c.lease(m); ok && (p.Role == Runner || p.Address == self) {
			ch := LeaseChange{Role: p.Role, Member: p.Address, Sequence: m.Sequence, Time: m.Time}
			if !m.deleted {
				ch.Value = append([]byte{}, m.Data...)
			}
			take(ch)
		}
	}
	err := c.lastOfEach(ctx, leaseStream, leaseKeys+">", tell)
	for changed := c.Changed(); err == nil; {
		select {
		case <-ctx.Done():
			return nil
		case <-changed: // what was told meanwhile is lost
			err = c.State()
			if err == nil {
				err = errors.New("the connection was made anew")
			}
		case m := <-news:
			var k StoredCopy
			if k, err = c.readStored(ctx, m); err == nil {
				tell(k)
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return streamError("cannot watch the leases", err)
}

// lease returns whose lease or pulse it is; not ok: it is none of a member's.
func (c *Conn) lease(m StoredCopy) (p Peer, ok bool) {
	key, _ := strings.CutPrefix(m.Subject, leaseKeys)
	p, err := ParsePeer(key)
	if err != nil && c.opt.Log != nil {
		c.opt.Log.Warn("what is among the leases is none", "key", key, "why", err.Error())
	}
	return p, err == nil && !m.Foreign
}
