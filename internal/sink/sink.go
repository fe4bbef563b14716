package sink

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sink is a way to one peer. One goroutine calls it.
type Sink interface {
	// Name says which sink it is, for logs: nothing secret.
	Name() string
	// Limits say how large a batch may be.
	Limits() Limits
	// Send delivers messages in order. It returns how many the peer has, counted
	// from the first, and why not the others. What it returns before ctx is done
	// is up to the sink; it returns soon after.
	Send(ctx context.Context, batch []Message) (int, error)
	// Close lets go of the peer. It waits for nobody.
	Close() error
}

// Limits bound a batch.
type Limits struct {
	Count int           // messages
	Bytes int           // of their bodies; one message may be larger
	Wait  time.Duration // how long the first message waits for others
}

// errRefused is a peer that has understood and does not want these messages: to
// send them again would not help.
var errRefused = errors.New("refused for good")

// pauseError is a peer that has said when to come again.
type pauseError struct {
	error
	pause time.Duration
}

func (e pauseError) Unwrap() error { return e.error }

// partialError is a peer that took a batch but for so many of it, which it does
// not want and does not name.
type partialError uint64

func (e partialError) Error() string {
	return fmt.Sprintf("the peer rejected %d records of a batch", uint64(e))
}
