package replicate

import (
	"context"

	"tipstaff/internal/fleet/natsx"
)

// Streams are the streams of copies, as a shipper needs them: an [*natsx.Conn].
// Methods may be called concurrently.
type Streams interface {
	// AppendCopy appends a batch behind another one; see [natsx.Conn].
	AppendCopy(ctx context.Context, m natsx.Copy) (sequence uint64, err error)
	// LastCopy returns the last batch of a subject, or one before it.
	LastCopy(ctx context.Context, stream int, subject string) (natsx.StoredCopy, error)
	// MaxPayload is the size of the largest message, what travels beside the data
	// included; 0: not known yet.
	MaxPayload() int64
}
