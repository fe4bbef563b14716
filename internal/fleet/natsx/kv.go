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

// StoredCopy is a message in a stream.
type StoredCopy struct {
	Subject  string
	Sequence uint64
	Time     time.Time // when the stream has taken it
	Header   string
	Data     []byte
	Size     int // of the data
	// Foreign: it bears no signature of the member whose it should be, and its Header
	// and Data say nothing.
	Foreign bool

	deleted bool // it says that its key is gone
}

// Bounds of one request, and how long each message of an answer may take.
const (
	readAtOnce  = 256
	readAtOnceB = 2 << 20 // bytes
	answerTime  = 5 * time.Second
)

// lastOfEach hands take the last message of each subject that filter takes in, for a
// stream that keeps one message a subject. It asks any of the stream's servers
// directly (ADR-31 of NATS), which takes one permission and leaves nothing there,
// where a watch takes several and a consumer on the server.
func (c *Conn) lastOfEach(ctx context.Context, stream, filter string, take func(StoredCopy)) error {
	return c.readFrom(ctx, stream, filter, 1, 0, func(m StoredCopy) error { take(m); return nil })
}

// readFrom hands take the messages of a stream whose subjects match filter, in their
// order, from a sequence on to another; 0: to the end.
func (c *Conn) readFrom(ctx context.Context, stream, filter string, from, to uint64, take func(StoredCopy) error) error {
	ctx, stop := c.whileConnected(ctx)
	defer stop()
	errEnough := errors.New("enough")
	for more := true; more && (to == 0 || from <= to); {
		var err error
		more, err = c.ask(ctx, stream, map[string]any{"seq": from, "next_by_subj": filter, "batch": readAtOnce, "max_bytes": readAtOnceB}, func(m StoredCopy) error {
			if to > 0 && m.Sequence > to {
				return errEnough
			}
			from = m.Sequence + 1
			return take(m)
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask asks for several messages at once, and reports whether there are more.
func (c *Conn) ask(ctx context.Context, stream string, what map[string]any, take func(StoredCopy) error) (more bool, err error) {
	text, err := json.Marshal(what)
	if err != nil {
		return false, err
	}
	before := c.Refused()
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return false, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, text); err != nil {
		return false, err
	}
	for last := uint64(0); ; {
		// A server says beside the exchange that a key may not ask, and the asker only waits.
		one, cancel := context.WithTimeout(ctx, answerTime)
		m, err := sub.NextMsgWithContext(one)
		cancel()
		if err != nil {
			return false, c.askError(err, before)
		}
		if !isStored(m) {
			switch status := m.Header.Get("Status"); status {
			case "204": // the end of the batch
				if m.Header.Get(jetstream.LastSequenceHeader) != strconv.FormatUint(last, 10) {
					return false, errGap
				}
				pending, _ := strconv.Atoi(m.Header.Get("Nats-Num-Pending"))
				return pending > 0 && last > 0, nil
			case "404":
				return false, nil
			case "503":
				return false, jetstream.ErrNoStreamResponse
			default:
				return false, fmt.Errorf("%s %s", status, m.Header.Get("Description"))
			}
		}
		k, err := c.readStored(ctx, m)
		if err != nil {
			return false, err
		}
		if ofServer(m, jetstream.LastSequenceHeader) != strconv.FormatUint(last, 10) {
			return false, errGap
		}
		last = k.Sequence
		if err := take(k); err != nil {
			return false, err
		}
	}
}

var errGap = errors.New("a part of the answer was lost on its way")

// ofServer is what the server says in a header: it adds its own behind those with
// which a message was stored, and these can have the same names.
func ofServer(m *nats.Msg, header string) string {
	if v := m.Header[header]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// isStored reports whether this is a message of a stream, and not the server's word
// about the request.
func isStored(m *nats.Msg) bool { return m.Header.Get(jetstream.SequenceHeader) != "" }

// readStored reads a message of a stream, and checks whose it is.
func (c *Conn) readStored(ctx context.Context, m *nats.Msg) (StoredCopy, error) {
	k := StoredCopy{Subject: ofServer(m, jetstream.SubjectHeader), Header: m.Header.Get(headerName), Data: m.Data, Size: len(m.Data)}
	var err error
	if k.Sequence, err = strconv.ParseUint(ofServer(m, jetstream.SequenceHeader), 10, 64); err != nil {
		return k, errors.New("an answer without its sequence")
	}
	if k.Time, err = time.Parse(time.RFC3339Nano, ofServer(m, jetstream.TimeStampHeaer)); err != nil {
		return k, errors.New("an answer without its time")
	}
	k.deleted = m.Header.Get("KV-Operation") != "" || m.Header.Get("Nats-Marker-Reason") != ""
	genuine, err := c.isGenuine(ctx, m, k)
	if !genuine {
		k.Foreign, k.Header, k.Data = true, "", nil
	}
	return k, err
}

// askError says why nothing came.
func (c *Conn) askError(err error, refused int64) error {
	switch state := c.State(); {
	case c.Refused() > refused:
		return ErrForbidden
	case state != nil:
		return state
	case errors.Is(err, nats.ErrNoResponders):
		return jetstream.ErrNoStreamResponse
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	return err
}
