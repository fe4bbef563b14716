package ship

import (
	"context"

	"tipstaff/internal/fleet/natsx"
)

// Streams are the streams of copies, as a shipper needs them: an [*engine.Conn].
// Methods may be called concurrently.
type Streams interface {
	// AppendCopy appends a batch behind another one; see [engine.Conn].
	AppendCopy(ctx context.Context, m engine.Copy) (sequence uint64, err error)
	// LastCopy returns the last batch of a subject, or one before it.
	LastCopy(ctx context.Context, stream int, subject string) (engine.StoredCopy, error)
	// MaxPayload is the size of the largest message, what travels beside the data
	// included; 0: not known yet.
	MaxPayload() int64
}
