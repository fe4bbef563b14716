package natsx

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

// ErrNoStream says that the stream does not exist. A gateway makes it, see [Conn.MakeStreams].
var ErrNoStream = errors.New("the engine has no such stream")

// CopyStream is the name of stream i, from 0 to CopyStreams-1.
func CopyStream(i int) string { return "AUDIT_" + strconv.Itoa(i) }

// CopySubjects is what stream i takes up; with a name, of that member only.
func CopySubjects(i int, name string) string {
	if name == "" {
		name = "*"
	}
	return fmt.Sprintf("%s.a.%d.%s.*", prefix, i, name)
}

// MakeStreams makes the buckets and the streams of copies where they do
// not exist, each on as many servers as replicas says; 0 means 3 in a cluster and
// 1 on a single server. What exists stays as the operator made it.
func (c *Conn) MakeStreams(ctx context.Context, replicas int) error {
	if replicas == 0 {
		replicas = 1
		if c.nc.ConnectedClusterName() != "" {
			replicas = 3
		}
	}
	// One that cannot be made holds up no other.
	errs := []error{c.makeLeases(ctx, replicas), c.makeClaims(ctx, replicas), c.makeFrozen(ctx, replicas)}
	for i := range CopyStreams {
		_, err := c.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: CopyStream(i), Description: "copies of tipstaff's trails",
			Subjects: []string{CopySubjects(i, "")}, Storage: jetstream.FileStorage, Replicas: replicas,
			Duplicates: duplicates, DenyDelete: true, DenyPurge: true, AllowDirect: true,
			// A replica that was not stopped well cuts its store back to its last
			// snapshot when it starts. nats-server 2.15.2 then compresses the block to
			// which it goes on to write, and what follows cannot be read. After a full
			// disk all replicas are like that (e2e/faults).
			Compression: jetstream.NoCompression,
		})
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			errs = append(errs, fmt.Errorf("cannot make the stream %s: %w", CopyStream(i), plain(err)))
		}
	}
	return errors.Join(errs...)
}

// duplicates is how long a stream remembers ids: as long as a shipper may try one
// batch again after it was kept without the shipper knowing.
const duplicates = 10 * time.Minute

// streamError names the errors of JetStream that callers act on.
func streamError(what string, err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, jetstream.ErrBucketNotFound):
		return fmt.Errorf("%s: %w, or JetStream is not there: %w", what, ErrNoStream, err)
	}
	return fmt.Errorf("%s: %w", what, plain(err))
}
