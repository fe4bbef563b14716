package mcpserver

import (
	"errors"
	"io"
	"sync"
	"time"
)

// unread is how long answers may still be taken when the connection ends. Then the
// rest is given up: a client that does not read must not keep the server from ending,
// nor its commands (contract T4).
const unread = 2 * time.Second

// stalled is how long a client may take nothing before it is looked whether it has
// closed its other end.
const stalled = time.Second

// errUnread: the client has not read its answers, and the connection has ended.
var errUnread = errors.New("the client does not read its answers")

// outbox writes lines to a client, one at a time. A write to a pipe that is not read
// cannot be ended, so it has a goroutine of its own, and a caller that waits for it can
// be let go.
type outbox struct {
	out    io.Writer
	turn   chan struct{} // has an element while a line is being written
	gone   chan struct{} // closed when the rest is given up
	giving sync.Once
}

func newOutbox(out io.Writer) *outbox {
	return &outbox{out: out, turn: make(chan struct{}, 1), gone: make(chan struct{})}
}

// write returns when the client has taken the line, or the rest is given up.
// late is called every stalled until then.
func (o *outbox) write(line []byte, late func()) error {
	select {
	case <-o.gone:
		return errUnread
	default:
	}
	look := time.NewTicker(stalled)
	defer look.Stop()
	written := make(chan error, 1)
	turn := o.turn
	for {
		select {
		case turn <- struct{}{}:
			turn = nil // it is this line's
			go func() {
				_, err := o.out.Write(line)
				<-o.turn
				written <- err
			}()
		case err := <-written:
			return err
		case <-o.gone:
			return errUnread
		case <-look.C:
			late()
		}
	}
}

// giveUp lets all callers go; every later write fails.
func (o *outbox) giveUp() { o.giving.Do(func() { close(o.gone) }) }
