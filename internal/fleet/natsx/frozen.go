package natsx

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// frozenBucket holds what operators have signed about who is frozen, one key for each
// target. Operators write it, gateways and runners read it. Nothing in it ends by
// itself.
const (
	frozenBucket = "tip1_frozen"
	frozenStream = "KV_" + frozenBucket
	frozenKeys   = "$KV." + frozenBucket + "."
)

// frozenBytes bounds the bucket: ten thousand entries.
const frozenBytes = 16 << 20

// makeFrozen makes the bucket if it is not there.
func (c *Conn) makeFrozen(ctx context.Context, replicas int) error {
	return c.makeBucket(ctx, "freezes", jetstream.StreamConfig{
		Name: frozenStream, Description: "whom operators of tipstaff have frozen, as they have signed it", Subjects: []string{frozenKeys + ">"},
		MaxBytes: frozenBytes, Storage: jetstream.FileStorage, Replicas: replicas,
	})
}

// FrozenKey is one key of the bucket.
type FrozenKey struct {
	Key      string
	Sequence uint64 // of its last write
	Data     []byte // as an operator signed it; who that was is the reader's to check
}

// Frozen returns all keys of the bucket, in the order in which they were written.
func (c *Conn) Frozen(ctx context.Context) ([]FrozenKey, error) {
	var all []FrozenKey
	err := c.lastOfEach(ctx, frozenStream, frozenKeys+">", func(m StoredCopy) {
		if !m.deleted {
			all = append(all, FrozenKey{Key: m.Subject[len(frozenKeys):], Sequence: m.Sequence, Data: m.Data})
		}
	})
	if err != nil {
		return nil, streamError("cannot read who is frozen", err)
	}
	return all, nil
}

// ErrRaced says that another operator wrote the same key at the same time. Read again.
var ErrRaced = errors.New("another operator has changed this just now")

// PutFrozen writes a key over the write with a sequence; 0: there is none.
func (c *Conn) PutFrozen(ctx context.Context, key string, after uint64, data []byte) error {
	ctx, stop := c.whileConnected(ctx)
	defer stop()
	before := c.Refused()
	_, err := c.js.PublishMsg(ctx, natsMsg(frozenKeys+key, data), jetstream.WithExpectLastSequencePerSubject(after), jetstream.WithRetryAttempts(0))
	if err == nil {
		return nil
	}
	var refusal *jetstream.APIError
	switch {
	case errors.As(err, &refusal) && refusal.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
		return ErrRaced
	case c.Refused() > before:
		return fmt.Errorf("cannot write down who is frozen: %w", ErrForbidden)
	}
	return streamError("cannot write down who is frozen", err)
}

// PeerLease is a gateway or a runner that has written its pulse or its lease.
type PeerLease struct {
	Peer
	Value    []byte
	Sequence uint64    // grows with each write of any member
	Time     time.Time // by the server's clock
}

// Peers returns the gateways and runners whose pulses and leases last, in the order
// of their last writes.
func (c *Conn) Peers(ctx context.Context) ([]PeerLease, error) {
	var all []PeerLease
	err := c.lastOfEach(ctx, leaseStream, leaseKeys+">", func(m StoredCopy) {
		if p, ok := c.lease(m); ok && !m.deleted {
			all = append(all, PeerLease{Peer: p, Value: m.Data, Sequence: m.Sequence, Time: m.Time})
		}
	})
	if err != nil {
		return nil, streamError("cannot read which gateways and runners there are", err)
	}
	return all, nil
}
