package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"tipstaff/internal/strictjson"
)

// Kinds of an [Event].
const (
	// KindCommand comes first, and describes the command.
	KindCommand = "command"
	// KindOutput is more of what it prints.
	KindOutput = "output"
	// KindScreen is what its terminal shows now, whole.
	KindScreen = "screen"
	// KindEnd comes last, and says how it ended.
	KindEnd = "end"
)

// Event is one piece of news of a command. Text, Open and Screen are what people
// read: without control characters but line ends, secrets hidden; still the words of
// a program, and no markup.
type Event struct {
	Kind    string   `json:"kind"`
	Command *Command `json:"command,omitempty"` // of KindCommand and KindEnd
	// Text is whole lines, for the end of what was shown. Open is the line that has
	// no end yet; it takes the place of the last one.
	Text string `json:"text,omitempty"`
	Open string `json:"open,omitempty"`
	// Lost is how many bytes before Text are not shown: they are not kept, lie too
	// far back, or came faster than they were read.
	Lost int64 `json:"lost,omitempty"`
	// Screen is what a terminal shows, a line each, of Columns.
	Screen  []string `json:"screen,omitempty"`
	Columns int      `json:"columns,omitempty"`
}

// ErrUnknown says that no running server knows a command or session of this id.
var ErrUnknown error = unknownError{}

type unknownError struct{}

func (unknownError) Error() string {
	return "no running server knows it: it has ended, or belongs to a server with another TIPSTAFF_STATE_DIR, or of another fleet"
}

// Follow calls each with what a command prints: what is kept of it, from at most the
// last 256 KiB on, then what comes, at most twenty times a second. It returns nil
// behind KindEnd, the error of each if that fails, and else why it ended before:
// ctx, the server, or [ErrUnknown].
func Follow(ctx context.Context, state, id string, each func(Event) error) error {
	return follow(ctx, state, id, each)
}

// follow asks one server after the other for the command.
func follow(ctx context.Context, state, id string, each func(Event) error) error {
	dir, names, err := sockets(state)
	if err != nil {
		return err
	}
	failed := error(ErrUnknown)
	for _, name := range names {
		err := followAt(ctx, dir, name, id, each)
		switch {
		case errors.Is(err, ErrUnknown), err != nil && gone(err):
			continue
		case errors.Is(err, errNotHeard):
			failed = said{name: name, err: err}.because()
			continue
		}
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failed
}

// errNotHeard: a server was asked and has said nothing.
var errNotHeard = errors.New("it does not answer")

// followAt follows a command of one server.
func followAt(ctx context.Context, dir, name, id string, each func(Event) error) error {
	conn, err := dial(dir, name)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() { stop(); _ = conn.Close() }()
	if err := send(conn, request{Op: opFollow, ID: id}); err != nil {
		return fmt.Errorf("%w: %w", errNotHeard, err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(lookPatience))
	for in, first := bufio.NewReader(conn), true; ; first = false {
		line, err := readLine(in, maxEvent)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && first:
			return fmt.Errorf("%w: %w", errNotHeard, err)
		case err != nil:
			return fmt.Errorf("the server has ended: %w", err)
		}
		_ = conn.SetReadDeadline(time.Time{})
		var out reply
		if err := strictjson.Unmarshal(line, &out); err != nil {
			return fmt.Errorf("cannot understand the server: %w", err)
		}
		if err := out.err(); err != nil {
			return err
		}
		if out.Event == nil {
			continue // it lives
		}
		if err := each(*out.Event); err != nil {
			return err
		}
		if out.Event.Kind == KindEnd {
			return nil
		}
	}
}
