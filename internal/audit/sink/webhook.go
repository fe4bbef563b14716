package sink

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"net/url"
	"strconv"
	"time"

	"tipstaff/internal/audit/events"
)

// Webhook posts batches of messages to an address, one JSON object a line. Each
// batch is signed with a secret shared with the receiver.
type Webhook struct {
	name   string
	poster *poster
	secret []byte
	clock  func() time.Time
}

// NewWebhook returns a sink to an address that [Parse] accepts. secure may be
// nil.
func NewWebhook(address *url.URL, secret []byte, secure *tls.Config) *Webhook {
	return &Webhook{
		name:   address.Scheme + "://" + address.Host, // paths and queries of webhooks are often secret
		poster: newPoster(address, map[string]string{"Content-Type": "application/x-ndjson"}, secure, address.Scheme == "http"),
		secret: secret, clock: time.Now,
	}
}

// Name returns the scheme and host of the address.
func (w *Webhook) Name() string { return w.name }

// Limits bounds a batch.
func (*Webhook) Limits() BatchLimits {
	return BatchLimits{Count: 100, Bytes: 256 << 10, Wait: time.Second}
}

// Send posts a batch. An answer 2xx means that the receiver has it. All records
// of a batch are of one trail.
func (w *Webhook) Send(ctx context.Context, batch []Message) (int, error) {
	var body []byte
	for _, m := range batch {
		body = append(append(body, m.Body...), '\n')
	}
	stamp := strconv.FormatInt(w.clock().Unix(), 10)
	headers := map[string]string{
		"Tipstaff-Trail":     batch[0].Trail,
		"Tipstaff-Signature": "t=" + stamp + ",v1=" + sign(w.secret, stamp, body),
	}
	if first, last := span(batch); first > 0 {
		headers["Tipstaff-Records"] = strconv.FormatUint(first, 10) + "-" + strconv.FormatUint(last, 10)
	}
	if _, err := w.poster.post(ctx, body, headers); err != nil {
		return 0, err
	}
	return len(batch), nil
}

// sign includes the time, so that an old batch cannot be replayed later.
func sign(secret []byte, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// span returns the numbers of the first and last record of a batch; 0 if it has
// none.
func span(batch []Message) (first, last uint64) {
	for _, m := range batch {
		if m.Kind != events.Record {
			continue
		}
		if last = m.Seq; first == 0 {
			first = m.Seq
		}
	}
	return first, last
}

// Close closes idle connections.
func (w *Webhook) Close() error {
	w.poster.close()
	return nil
}
