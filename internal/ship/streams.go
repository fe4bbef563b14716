package ship

import (
	"context"
	"errors"
)

// Streams are the eight streams of copies; those of a connection to the engine
// are in engine.go. Methods may be called concurrently. Errors are those below,
// or wrap them; all others count as temporary.
type Streams interface {
	// Publish appends a message to a stream, as the next one with its subject
	// after the one with the number m.After (0: it is the first one), and returns
	// its number. If the stream has a message with the same ID already, the
	// error is [ErrMoved].
	Publish(ctx context.Context, stream int, m Message) (seq uint64, err error)
	// Last returns the last message with a subject, or [ErrNoMessage]. It may be
	// older than what was published last.
	Last(ctx context.Context, stream int, subject string) (Stored, error)
	// Room is the size of the largest message, headers included; 0: not known
	// yet.
	Room() int
}

// Message is what is published.
type Message struct {
	Subject, ID string
	After       uint64
	Header      string // travels beside the body
	Body        []byte
}

// Stored is a message in a stream.
type Stored struct {
	Subject string
	Seq     uint64
	Header  string
	Body    []byte
	Size    int // of the body, also where that was not asked for
}

// What can be wrong with a stream.
var (
	// ErrMoved says that the last message of the subject is another than the one
	// that was named.
	ErrMoved = errors.New("the copy has moved on")
	// ErrNoMessage says that the stream has no message with the subject.
	ErrNoMessage = errors.New("the stream has no such message")
	// ErrNoStream says that the stream is missing.
	ErrNoStream = errors.New("the stream does not exist")
	// ErrTooLarge says that the message is larger than the stream or a server takes.
	ErrTooLarge = errors.New("the message is too large")
	// ErrFull says that the stream, or a disk below it, has no room.
	ErrFull = errors.New("the stream is full")
	// ErrUnreachable says that there was no answer in time.
	ErrUnreachable = errors.New("the engine cannot be reached")
	// ErrForbidden says that the key lacks a permission.
	ErrForbidden = errors.New("the key may not do that")
)
