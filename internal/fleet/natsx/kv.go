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

// lastMessage is the last message of one subject of a stream.
type lastMessage struct {
	subject  string
	sequence uint64
	at       time.Time
	deleted  bool // it says that the key is gone
	data     []byte
}

// lastMessageBatch is how many messages are asked for with one request.
const lastMessageBatch = 500

// lastOfEach hands take the last message of each subject that filter takes in, for a
// stream that keeps one message a subject. It asks any of the stream's servers
// directly (ADR-31 of NATS), which takes one permission and leaves nothing there,
// where a watch takes several and a consumer on the server.
func (c *Conn) lastOfEach(ctx context.Context, stream, filter string, take func(lastMessage)) error {
	ctx, stop := c.whileConnected(ctx)
	defer stop()
	for from := uint64(1); ; {
		next, err := c.lastMessagesFrom(ctx, stream, filter, from, take)
		if err != nil || next == 0 {
			return err
		}
		from = next
	}
}

// lastMessagesFrom asks for one batch, and returns where the next one begins; 0: that was all.
func (c *Conn) lastMessagesFrom(ctx context.Context, stream, filter string, from uint64, take func(lastMessage)) (next uint64, err error) {
	ask, err := json.Marshal(map[string]any{"seq": from, "next_by_subj": filter, "batch": lastMessageBatch})
	if err != nil {
		return 0, err
	}
	before := c.Refused()
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return 0, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, ask); err != nil {
		return 0, err
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return 0, c.lastMessageError(err, before)
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "204": // the end of the batch
			if pending, _ := strconv.Atoi(m.Header.Get("Nats-Num-Pending")); pending == 0 || next == 0 {
				return 0, nil
			}
			return next, nil
		case "404":
			return 0, nil
		case "503":
			return 0, jetstream.ErrNoStreamResponse
		default:
			return 0, fmt.Errorf("%s %s", status, m.Header.Get("Description"))
		}
		k, err := parseLastMessage(m)
		if err != nil {
			return 0, err
		}
		next = k.sequence + 1
		take(k)
	}
}

func parseLastMessage(m *nats.Msg) (lastMessage, error) {
	k := lastMessage{subject: m.Header.Get(jetstream.SubjectHeader), data: m.Data}
	var err error
	if k.sequence, err = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64); err != nil {
		return k, errors.New("an answer without its sequence")
	}
	if k.at, err = time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer)); err != nil {
		return k, errors.New("an answer without its time")
	}
	k.deleted = m.Header.Get("KV-Operation") != "" || m.Header.Get("Nats-Marker-Reason") != ""
	return k, nil
}

// lastMessageError says why nothing came. A server that refuses a request says so beside the
// exchange, and the asker only waits.
func (c *Conn) lastMessageError(err error, refused int64) error {
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
