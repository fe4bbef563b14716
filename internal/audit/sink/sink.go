package sink

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sink sends messages to one peer. Its methods are not called concurrently.
type Sink interface {
	// Name identifies the sink in logs. It contains no secret.
	Name() string
	// Limits bounds a batch.
	Limits() BatchLimits
	// Send delivers messages in order. It returns how many of them the peer
	// has, counted from the first, and an error if not all. Send returns soon
	// after ctx is done.
	Send(ctx context.Context, batch []Message) (int, error)
	// Close disconnects from the peer. It does not block.
	Close() error
}

// BatchLimits bound a batch.
type BatchLimits struct {
	Count int           // number of messages
	Bytes int           // size of their bodies; a single message may be larger
	Wait  time.Duration // how long the first message waits for others
}

// errRefused says that the peer has understood the messages and refuses them,
// so that retrying is useless.
var errRefused = errors.New("refused for good")

// pauseError says that the peer has told when to try again.
type pauseError struct {
	error
	pause time.Duration
}

func (e pauseError) Unwrap() error { return e.error }

// partialError says that the peer accepted a batch except for this number of
// messages, which it rejected without identifying them.
type partialError uint64

func (e partialError) Error() string {
	return fmt.Sprintf("the peer rejected %d records of a batch", uint64(e))
}
