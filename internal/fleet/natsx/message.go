package natsx

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Message is one message of core NATS: delivered at most once, to those who
// listen when it passes.
type Message struct {
	Subject string
	Reply   string // where an answer is expected; "": nowhere
	Data    []byte

	// Nobody: this is no message of a peer, but the server's word that nobody
	// listened at the subject that Reply was sent along with. It also comes while
	// a peer connects again, for a tenth of a second and more.
	Nobody bool
}

// Publish sends data to a subject. With a reply subject to which this connection
// is subscribed, the server says there ([Message.Nobody]) if nobody listens at
// the subject. No error means that the message was handed to the connection, not
// that it arrived; [ErrUnavailable] and [ErrTooLarge] mean that it was not sent
// and will not be.
func (c *Conn) Publish(subject, reply string, data []byte) error {
	m := &nats.Msg{Subject: subject, Reply: reply, Data: data, Header: nats.Header{mark: {marked}}}
	if answerer(subject) != "" {
		m = c.sign(m)
	}
	return plain(c.nc.PublishMsg(m))
}

// mark is the header of members' messages, beside the signature of an answer. What
// JetStream sends has others as well, or none if its asker wants none (no_hdr).
const (
	mark   = "Tipstaff"
	marked = "1"
)

// ofMember reports whether a member can have sent a message with this header.
func ofMember(h nats.Header) bool {
	v := h[mark]
	return len(h) == 1+len(h[signedHeader]) && len(v) == 1 && v[0] == marked
}

// answerer is who has to have signed what comes to a subject, as ROLE.NAME; "": nobody, or
// one whose statement the reader asks for.
func answerer(subject string) string {
	if from, _, err := ParseAnswer(subject); err == nil {
		return Runner.letter() + "." + from.Name
	}
	if from, _, err := ParseTold(subject); err == nil {
		return from.Role.letter() + "." + from.Name
	}
	if name, ok := strings.CutPrefix(subject, Namesakes("")); ok {
		return Runner.letter() + "." + name
	}
	return ""
}

func natsMsg(subject string, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: data, Header: nats.Header{}}
}

// Flush returns when the server has everything that was published before; it
// waits 10 seconds at most.
func (c *Conn) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	return plain(c.nc.FlushWithContext(ctx))
}

const flushTimeout = 10 * time.Second

// Subscription is what [Conn.Subscribe] began.
type Subscription struct{ sub *nats.Subscription }

// Pending bounds what waits for the handler of one subscription: beyond, messages
// are dropped and [Conn.Dropped] counts. Senders hold less under way by credits.
const (
	pendingMessages = 64 << 10
	pendingBytes    = 64 << 20
)

// Subscribe has handle called for each message to the subject, one at a time in
// the order in which they came from one sender, so handle hands work that can
// wait to a goroutine. The subscription outlives breaks of the connection; what
// was sent during a break is lost. Subscribing is in effect at the server when
// Flush has returned. The data belongs to the handler.
//
// What does not bear the header of members, and that alone, is dropped, and so is an answer
// that the member has not signed whose subject it is.
func (c *Conn) Subscribe(subject string, handle func(Message)) (*Subscription, error) {
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) {
		nobody := len(m.Data) == 0 && m.Header.Get("Status") == "503"
		if !nobody && !(ofMember(m.Header) && c.isAnswer(m)) {
			c.countForeign(StoredCopy{Subject: m.Subject})
			return
		}
		handle(Message{Subject: m.Subject, Reply: m.Reply, Data: m.Data, Nobody: nobody})
	})
	if err != nil {
		return nil, plain(err)
	}
	if err := sub.SetPendingLimits(pendingMessages, pendingBytes); err != nil {
		return nil, errors.Join(plain(err), sub.Unsubscribe())
	}
	return &Subscription{sub}, nil
}

// Stop ends the subscription; the handler may still run once.
func (s *Subscription) Stop() {
	_ = s.sub.Unsubscribe() // fails only if the connection or the subscription has ended
}

// plain gives errors of the library the names that this package promises.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed),
		errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrStaleConnection), errors.Is(err, nats.ErrInvalidConnection):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return err
}
