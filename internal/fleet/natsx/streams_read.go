package natsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bounds of one request of [Conn.ReadCopies].
const (
	readAtOnce  = 256
	readAtOnceB = 2 << 20 // bytes
)

// ReadCopies hands take the messages of one subject of a stream, in order, from a
// sequence on to another, with their data. A few requests bring many messages
// (ADR-31 of NATS), where [Conn.GetCopy] takes one for each. It asks any of the
// stream's servers. An error of take ends it.
func (c *Conn) ReadCopies(ctx context.Context, stream int, subject string, from, to uint64, take func(StoredCopy) error) error {
	ctx, stop := c.whileConnected(ctx)
	defer stop()
	for from <= to {
		next, err := c.readSome(ctx, stream, subject, from, to, take)
		if err != nil || next == 0 {
			return err
		}
		from = next
	}
	return nil
}

// readSome asks for one batch, and returns where the next one begins; 0: that was all.
func (c *Conn) readSome(ctx context.Context, stream int, subject string, from, to uint64, take func(StoredCopy) error) (next uint64, err error) {
	ask, err := json.Marshal(map[string]any{"seq": from, "next_by_subj": subject, "batch": min(to-from+1, readAtOnce), "max_bytes": readAtOnceB})
	if err != nil {
		return 0, err
	}
	before := c.Refused()
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return 0, c.copyError(stream, err, before)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.nc.PublishRequest("$JS.API.DIRECT.GET."+CopyStream(stream), inbox, ask); err != nil {
		return 0, c.copyError(stream, err, before)
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return 0, c.copyError(stream, err, before)
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "204": // the end of the batch
			return next, nil
		case "404":
			return 0, nil
		case "503":
			return 0, c.copyError(stream, jetstream.ErrNoStreamResponse, before)
		default:
			return 0, fmt.Errorf("%s: %s %s", CopyStream(stream), status, m.Header.Get("Description"))
		}
		one, err := storedCopy(stream, m)
		if err != nil {
			return 0, err
		}
		if one.Sequence > to {
			return 0, nil
		}
		if err := take(one); err != nil {
			return 0, err
		}
		if next = one.Sequence + 1; next > to {
			return 0, nil
		}
	}
}

// storedCopy reads a message that was asked for directly.
func storedCopy(stream int, m *nats.Msg) (StoredCopy, error) {
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return StoredCopy{}, fmt.Errorf("%s: an answer without its sequence: %w", CopyStream(stream), err)
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return StoredCopy{}, errors.New(CopyStream(stream) + ": an answer without its time")
	}
	return StoredCopy{Subject: m.Header.Get(jetstream.SubjectHeader), Sequence: seq, Time: at, Header: m.Header.Get(headerName), Data: m.Data, Size: len(m.Data)}, nil
}
