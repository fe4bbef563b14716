package natsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What can be wrong with a copy, beside [ErrUnavailable], [ErrTooLarge] and
// [ErrNoStream].
var (
	// ErrMoved: the last message of the subject is not the one that was named.
	ErrMoved = errors.New("the copy has moved on")
	// ErrNoCopy: the stream has no such message.
	ErrNoCopy = errors.New("the stream has no such message")
	// ErrFull: the stream, or a disk below it, has no room.
	ErrFull = errors.New("the stream has no room")
	// ErrForbidden: the key lacks the permission.
	ErrForbidden = errors.New("the servers refuse this to the key")
	// ErrUnanswered: it was sent, and nothing came back. It may have been done.
	ErrUnanswered = errors.New("the engine has not answered in time")
)

// Copy is a message for a stream of copies.
type Copy struct {
	Stream  int    // from 0 to CopyStreams-1
	Subject string // one that the stream takes up
	ID      string // a second message with it is not kept
	// After is the sequence of the last message with this subject; 0: there is
	// none. The stream takes no message that names another one.
	After  uint64
	Header string // what it says of itself, on one line
	Data   []byte
}

// headerName is where Copy.Header travels. It can be read without the data.
const headerName = "Tipstaff-Batch"

// sizeHeader is how large a message is whose data was not asked for.
const sizeHeader = "Nats-Msg-Size"

// AppendCopy adds a message that follows another one, and returns its number when
// the stream has acknowledged it. The error is [ErrMoved] if the stream has another last message with this subject, or has
// this id already: then ask [Conn.LastCopy].
func (c *Conn) AppendCopy(ctx context.Context, m Copy) (sequence uint64, err error) {
	msg := &nats.Msg{Subject: m.Subject, Data: m.Data, Header: nats.Header{headerName: {m.Header}}}
	ctx, stop := c.whileConnected(ctx)
	defer stop()
	before := c.Refused()
	ack, err := c.js.PublishMsg(ctx, msg, jetstream.WithMsgID(m.ID), jetstream.WithExpectStream(CopyStream(m.Stream)),
		jetstream.WithExpectLastSequencePerSubject(m.After), jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, c.copyError(m.Stream, err, before)
	}
	if ack.Duplicate {
		return 0, fmt.Errorf("%s: %w: it has the message %s already", CopyStream(m.Stream), ErrMoved, m.ID)
	}
	return ack.Sequence, nil
}

// StoredCopy is a message in a stream of copies.
type StoredCopy struct {
	Subject  string
	Sequence uint64
	Time     time.Time // when the stream has taken it
	Header   string
	Data     []byte // nil where only its size was asked for
	Size     int
}

// LastCopy returns the last message with a subject, or [ErrNoCopy]. It asks any
// of the stream's servers, so there may be a later one.
func (c *Conn) LastCopy(ctx context.Context, stream int, subject string) (StoredCopy, error) {
	return c.direct(ctx, stream, "$JS.API.DIRECT.GET."+CopyStream(stream)+"."+subject, nil)
}

// GetCopy returns the message with a sequence, or [ErrNoCopy].
func (c *Conn) GetCopy(ctx context.Context, stream int, sequence uint64) (StoredCopy, error) {
	ask, err := json.Marshal(map[string]uint64{"seq": sequence})
	if err != nil {
		return StoredCopy{}, err
	}
	return c.direct(ctx, stream, "$JS.API.DIRECT.GET."+CopyStream(stream), ask)
}

// direct asks a server of a stream for a message. The subject of the last one is
// part of where it is asked for, so a key can be held to its own.
func (c *Conn) direct(ctx context.Context, stream int, where string, ask []byte) (StoredCopy, error) {
	ctx, stop := c.whileConnected(ctx)
	defer stop()
	before := c.Refused()
	m, err := c.nc.RequestWithContext(ctx, where, ask)
	if err != nil {
		return StoredCopy{}, c.copyError(stream, err, before)
	}
	switch status := m.Header.Get("Status"); status {
	case "":
	case "404":
		return StoredCopy{}, fmt.Errorf("%s: %w", CopyStream(stream), ErrNoCopy)
	default:
		return StoredCopy{}, fmt.Errorf("%s: %s %s", CopyStream(stream), status, m.Header.Get("Description"))
	}
	return storedCopy(stream, m)
}

// ListCopies hands take the messages of a stream whose subjects match filter, in
// order, from a sequence on, without their data. It returns the sequence from
// which a later call goes on: what the stream held at the start was handed out.
func (c *Conn) ListCopies(ctx context.Context, stream int, filter string, from uint64, take func(StoredCopy) error) (next uint64, err error) {
	return c.list(ctx, stream, from, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{filter}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1),
	}, take)
}

// answerTime is how long a stream has to say that it is there.
const answerTime = 5 * time.Second

// LastCopies hands take the last message of each subject of a stream that matches
// filter, without its data.
func (c *Conn) LastCopies(ctx context.Context, stream int, filter string, take func(StoredCopy) error) error {
	_, err := c.list(ctx, stream, 0, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{filter}, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
	}, take)
	return err
}

func (c *Conn) list(ctx context.Context, stream int, from uint64, o jetstream.OrderedConsumerConfig, take func(StoredCopy) error) (next uint64, err error) {
	before := c.Refused()
	// A server says beside the exchange that a key may not ask, and the asker only waits.
	first, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s, err := c.js.Stream(first, CopyStream(stream))
	if err != nil {
		return from, c.copyError(stream, err, before)
	}
	end := s.CachedInfo().State.LastSeq
	if end < from {
		return from, nil
	}
	o.HeadersOnly = true
	cons, err := s.OrderedConsumer(ctx, o)
	if err != nil {
		return from, c.copyError(stream, err, before)
	}
	info, err := cons.Info(ctx)
	if err != nil {
		return from, c.copyError(stream, err, before)
	}
	if info.NumPending == 0 { // it was not asked for any yet
		return end + 1, nil
	}
	it, err := cons.Messages()
	if err != nil {
		return from, c.copyError(stream, err, before)
	}
	defer it.Stop()
	for {
		m, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			return from, c.copyError(stream, err, before)
		}
		meta, err := m.Metadata()
		if err != nil {
			return from, c.copyError(stream, err, before)
		}
		if meta.Sequence.Stream > end {
			return end + 1, nil
		}
		size, _ := strconv.Atoi(m.Headers().Get(sizeHeader))
		err = take(StoredCopy{Subject: m.Subject(), Sequence: meta.Sequence.Stream, Time: meta.Timestamp, Header: m.Headers().Get(headerName), Size: size})
		if err != nil {
			return from, err
		}
		if meta.NumPending == 0 || meta.Sequence.Stream == end {
			return end + 1, nil
		}
	}
}

// whileConnected ends a context when the connection breaks: an answer that was on
// its way then never comes.
func (c *Conn) whileConnected(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	changed := c.Changed()
	go func() {
		select {
		case <-changed:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// copyError names the errors that callers act on. refused is what [Conn.Refused]
// counted before the attempt: a server that refuses to take a message says so
// beside the exchange, and the asker only waits.
func (c *Conn) copyError(stream int, err error, refused int64) error {
	name := CopyStream(stream)
	known := func(is error) error { return fmt.Errorf("%s: %w: %w", name, is, err) }
	var refusal *jetstream.APIError
	if errors.As(err, &refusal) {
		switch refusal.ErrorCode {
		case jetstream.JSErrCodeStreamWrongLastSequence:
			return known(ErrMoved)
		case jetstream.JSErrCodeStreamMessageExceedsMaximum, headersTooLarge:
			return known(ErrTooLarge)
		case storeFailed, noResources, noMemory, noStorage, noAccountRoom:
			return known(ErrFull)
		case otherStream:
			return known(ErrNoStream)
		}
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%s: %w, or it allows no direct reading, or JetStream is not there: %w", name, ErrNoStream, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		if c.Refused() > refused {
			return known(ErrForbidden)
		}
		if state := c.State(); state != nil {
			return fmt.Errorf("%s: %w", name, state)
		}
		return known(ErrUnanswered)
	}
	return fmt.Errorf("%s: %w", name, plain(err))
}

// Codes of JetStream that the library does not name.
const (
	noAccountRoom   jetstream.ErrorCode = 10002
	noResources     jetstream.ErrorCode = 10023
	noMemory        jetstream.ErrorCode = 10028
	noStorage       jetstream.ErrorCode = 10047
	otherStream     jetstream.ErrorCode = 10060
	storeFailed     jetstream.ErrorCode = 10077
	headersTooLarge jetstream.ErrorCode = 10097
)

// TrailSubject is where the copy of one trail goes: in place of the incarnation
// stands the name of the trail, which is as much one start of one process, and
// which its checkpoints bear.
func TrailSubject(stream int, name, trail string) string {
	return strings.Join([]string{prefix, "a", strconv.Itoa(stream), name, trail}, ".")
}
