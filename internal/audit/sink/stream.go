package sink

import (
	"context"
	"io"
	"strconv"
)

// Stream writes each message as one line to a stream, usually standard error.
type Stream struct {
	W io.Writer
	// Priorities prefixes each line with its severity as <N>, see sd-daemon(3),
	// for a stream that the journal reads.
	Priorities bool
}

// Name returns "stderr".
func (*Stream) Name() string { return "stderr" }

// Limits bounds one write.
func (*Stream) Limits() BatchLimits { return BatchLimits{Count: 64, Bytes: 256 << 10} }

// Send writes the batch. If the stream is not read, Send blocks, even after ctx
// is done.
func (s *Stream) Send(ctx context.Context, batch []Message) (int, error) {
	for i, m := range batch {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		var line []byte
		if s.Priorities {
			line = append(strconv.AppendInt([]byte("<"), int64(m.facts().severity), 10), '>')
		}
		line = append(append(line, m.Body...), '\n')
		if _, err := s.W.Write(line); err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

// Close does not close the stream, which belongs to the caller.
func (*Stream) Close() error { return nil }
