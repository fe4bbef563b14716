package sink

import (
	"context"
	"io"
	"strconv"
)

// Stream writes one line for each message to a stream, standard error above all.
type Stream struct {
	W io.Writer
	// Priorities puts <N> before each line, the severity as sd-daemon(3) has it,
	// for a stream that the journal reads.
	Priorities bool
}

// Name is stderr: there is no other stream to choose.
func (*Stream) Name() string { return "stderr" }

// Limits are those of one write.
func (*Stream) Limits() Limits { return Limits{Count: 64, Bytes: 256 << 10} }

// Send writes; a stream that nobody reads holds it up, whatever ctx says.
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

// Close leaves the stream open: it is not the sink's.
func (*Stream) Close() error { return nil }
