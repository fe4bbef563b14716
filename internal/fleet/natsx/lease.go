package natsx

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// leaseBucket is the key-value bucket of leases and pulses; its stream is
// KV_tip1_runners. A value disappears LeaseTTL after it was last written.
const (
	leaseBucket = "tip1_runners"
	leaseStream = "KV_" + leaseBucket
	leaseKeys   = "$KV." + leaseBucket + "."
)

// LeaseTTL is how long a lease lasts that is not renewed.
const LeaseTTL = 30 * time.Second

// makeLeases makes the bucket if it is not there.
func (c *Conn) makeLeases(ctx context.Context, replicas int) error {
	_, err := c.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: leaseBucket, Description: "leases of tipstaff's runners and pulses of its gateways",
		History: 1, TTL: LeaseTTL, Storage: jetstream.MemoryStorage, Replicas: replicas,
	})
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("cannot make the bucket of leases: %w", plain(err))
	}
	return nil
}

func leaseKey(role Role, a Address) string { return role.letter() + "." + a.String() }

// PutLease writes or renews what a member holds: a runner its lease, a gateway
// its pulse. Each incarnation writes to a key of its own, without a condition: a
// write that timed out and is applied later says nothing that was not so. It
// returns the sequence in the bucket, which grows with each write of any member.
func (c *Conn) PutLease(ctx context.Context, a Address, value []byte) (sequence uint64, err error) {
	ack, err := c.js.Publish(ctx, leaseKeys+leaseKey(c.opt.Role, a), value, jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, streamError("cannot write a lease", err)
	}
	return ack.Sequence, nil
}

// DropLease gives a lease back.
func (c *Conn) DropLease(ctx context.Context, a Address) error {
	m := natsMsg(leaseKeys+leaseKey(c.opt.Role, a), nil)
	m.Header.Set("KV-Operation", "DEL")
	if _, err := c.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0)); err != nil {
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
// took them, until the context ends or the watch fails. A write between two may
// be left out, the last one of a key is not. A lease that merely ends unrenewed
// is not told: the absence of renewals is, as long as the watcher's own pulses
// come back here.
func (c *Conn) WatchLeases(ctx context.Context, self Address, take func(LeaseChange)) error {
	kv, err := c.js.KeyValue(ctx, leaseBucket)
	if err != nil {
		return streamError("cannot watch the leases", err)
	}
	w, err := kv.WatchFiltered(ctx, []string{Runner.letter() + ".>", leaseKey(Gateway, self)})
	if err != nil {
		return streamError("cannot watch the leases", err)
	}
	defer w.Stop() //nolint:errcheck // what is left of the watch ends with its context
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Updates():
			switch {
			case !ok && ctx.Err() != nil:
				return nil // the watch ends with its context, and is closed before that is seen here
			case !ok:
				return errors.New("the watch of the leases ended")
			}
			if e == nil {
				continue // all that was there before has been told
			}
			change, err := readChange(e)
			if err != nil {
				if c.opt.Log != nil {
					c.opt.Log.Warn("what stands among the leases is none", "key", e.Key(), "why", err.Error())
				}
				continue
			}
			take(change)
		}
	}
}

func readChange(e jetstream.KeyValueEntry) (LeaseChange, error) {
	letter, rest, _ := strings.Cut(e.Key(), ".")
	a, err := ParseAddress(rest)
	if err != nil {
		return LeaseChange{}, err
	}
	ch := LeaseChange{Role: Runner, Member: a, Sequence: e.Revision(), Time: e.Created()}
	if letter == Gateway.letter() {
		ch.Role = Gateway
	}
	if e.Operation() == jetstream.KeyValuePut {
		ch.Value = append([]byte{}, e.Value()...)
	}
	return ch, nil
}
