package control

import "context"

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

// ErrUnknown: no running server knows a command or session of this id.
var ErrUnknown error = unknownError{}

type unknownError struct{}

func (unknownError) Error() string {
	return "no running server knows it: it has ended, or belongs to a server with another TIPSTAFF_STATE_DIR"
}

// Follow calls each with what a command prints: what is kept of it, from at most the
// last 256 KiB on, then what comes, at most twenty times a second. It returns nil
// behind KindEnd, the error of each if that fails, and else why it ended before:
// ctx, the server, or [ErrUnknown].
func Follow(ctx context.Context, state, id string, each func(Event) error) error {
	return follow(ctx, state, id, each)
}
