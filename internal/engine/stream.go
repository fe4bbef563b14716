package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// CopyStreams is how many streams hold the copies of all trails. Their number does
// not grow with the fleet: a stream costs the servers much, a subject little.
const CopyStreams = 8

// ErrNoStream: the stream does not exist. A gateway makes it, see [Conn.MakeStreams].
var ErrNoStream = errors.New("the engine has no such stream")

// CopyStream is the name of stream i, from 0 to CopyStreams-1.
func CopyStream(i int) string { return "AUDIT_" + strconv.Itoa(i) }

// CopySubject is where the member with this address sends copies of its trail to
// stream i. The address is part of it, so that no runner's key can write another
// one's copies.
func CopySubject(i int, from Address) string {
	return fmt.Sprintf("%s.a.%d.%s", prefix, i, from)
}

// CopySubjects is what stream i takes up; with a name, of that member only.
func CopySubjects(i int, name string) string {
	if name == "" {
		name = "*"
	}
	return fmt.Sprintf("%s.a.%d.%s.*", prefix, i, name)
}

// MakeStreams makes the bucket of leases and the streams of copies where they do
// not exist, each on as many servers as replicas says; 0 means 3 in a cluster and
// 1 on a single server. What exists stays as the operator made it.
func (c *Conn) MakeStreams(ctx context.Context, replicas int) error {
	if replicas == 0 {
		replicas = 1
		if c.nc.ConnectedClusterName() != "" {
			replicas = 3
		}
	}
	if err := errors.Join(c.makeLeases(ctx, replicas), c.makeClaims(ctx, replicas)); err != nil {
		return err
	}
	for i := range CopyStreams {
		_, err := c.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: CopyStream(i), Description: "copies of tipstaff's trails",
			Subjects: []string{CopySubjects(i, "")}, Storage: jetstream.FileStorage, Replicas: replicas,
			Duplicates: duplicates, DenyDelete: true, DenyPurge: true,
			Compression: jetstream.S2Compression, AllowDirect: true,
		})
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("cannot make the stream %s: %w", CopyStream(i), plain(err))
		}
	}
	return nil
}

// duplicates is how long a stream remembers ids: as long as a shipper may try one
// batch again after it was kept without the shipper knowing.
const duplicates = 10 * time.Minute

// Append adds a message to the stream that takes up the subject, and returns when
// the stream has it: on all servers that it needs, and on disk where the servers
// sync always. The id makes a second sending of the same message harmless. An
// error leaves open whether the stream has it; send it again with the same id.
func (c *Conn) Append(ctx context.Context, subject, id string, data []byte) (sequence uint64, err error) {
	ack, err := c.js.Publish(ctx, subject, data, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, streamError(subject, err)
	}
	return ack.Sequence, nil
}

// Stored is a message of a stream.
type Stored struct {
	Subject  string
	ID       string
	Sequence uint64
	Time     time.Time // by the server's clock
	Data     []byte
}

// Read hands take what a stream holds at subjects that match filter, in order,
// beginning with the first sequence that is at least from. It returns nil when it
// has handed out what the stream held at the start; with follow it waits for more
// until the context ends, and then returns nil too. Other ends are errors: a read
// that is not whole never looks like one that is. take's error ends it.
func (c *Conn) Read(ctx context.Context, stream, filter string, from uint64, follow bool, take func(Stored) error) error {
	s, err := c.js.Stream(ctx, stream)
	if err != nil {
		return streamError(stream, err)
	}
	last, err := s.GetLastMsgForSubject(ctx, filter)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		if !follow {
			return nil
		}
		last = &jetstream.RawStreamMsg{}
	} else if err != nil {
		return streamError(stream, err)
	}
	if !follow && last.Sequence < from {
		return nil
	}
	cons, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{filter}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1),
	})
	if err != nil {
		return streamError(stream, err)
	}
	it, err := cons.Messages()
	if err != nil {
		return streamError(stream, err)
	}
	defer it.Stop()
	for {
		m, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			if follow && ctx.Err() != nil {
				return nil
			}
			return streamError(stream, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return streamError(stream, err)
		}
		if err := take(Stored{Subject: m.Subject(), ID: m.Headers().Get(jetstream.MsgIDHeader), Sequence: meta.Sequence.Stream, Time: meta.Timestamp, Data: m.Data()}); err != nil {
			return err
		}
		if !follow && meta.Sequence.Stream >= last.Sequence {
			return nil
		}
	}
}

// streamError names the errors of JetStream that callers act on.
func streamError(what string, err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, jetstream.ErrBucketNotFound):
		return fmt.Errorf("%s: %w, or JetStream is not there: %w", what, ErrNoStream, err)
	}
	return fmt.Errorf("%s: %w", what, plain(err))
}
