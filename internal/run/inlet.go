package run

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"tipstaff/internal/proc"
)

// inlet is our end of the input of a command. One writer at a time has the turn, so the
// texts of two callers do not mix. A nil inlet is closed.
type inlet struct {
	to           *os.File
	turn         chan struct{} // who has put something in has the turn
	commandEnded atomic.Bool   // the command has ended
	closing      atomic.Bool   // the input ends after the turn that is being taken

	// These are read and written in turn.
	ended   bool // there is no input any more
	midLine bool // what was written last ends no line
}

func newInlet(to *os.File) *inlet { return &inlet{to: to, turn: make(chan struct{}, 1)} }

// take waits for a turn.
func (i *inlet) take(ctx context.Context) error {
	select {
	case i.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case i.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// giveUp ends a turn.
func (i *inlet) giveUp() {
	<-i.turn
	if i.closing.Load() {
		_ = i.close()
	}
}

// write writes p. It returns how much of p the pipe or terminal has taken, when it has
// taken all, ctx is done, or the command has ended.
func (i *inlet) write(ctx context.Context, p []byte) (n int, err error) {
	if i == nil {
		return 0, ErrInputClosed
	}
	if err := i.take(ctx); err != nil {
		return 0, err
	}
	defer i.giveUp()
	return i.put(ctx, p)
}

// put is write for the holder of the turn. A pipe that is full blocks until the command
// reads, so ctx and the end of the command interrupt it by the write deadline.
func (i *inlet) put(ctx context.Context, p []byte) (n int, err error) {
	switch {
	case i.commandEnded.Load():
		return 0, ErrEnded
	case i.ended || i.closing.Load():
		return 0, ErrInputClosed
	}
	stop := context.AfterFunc(ctx, func() { _ = i.to.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		// An earlier call may still set the deadline that was meant for itself.
		_ = i.to.SetWriteDeadline(time.Time{})
		if i.commandEnded.Load() {
			return n, ErrEnded
		}
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		k, err := i.to.Write(p[n:])
		if n += k; n > 0 {
			i.midLine = p[n-1] != '\n' && p[n-1] != '\r'
		}
		switch {
		case err == nil:
			return n, nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			i.shut()
			return n, ErrInputClosed // nobody reads it any more
		}
	}
}

// typeEnd types the character that ends the input of a terminal. The terminal stays
// open, because that may have ended the input of only one of several programs.
func (i *inlet) typeEnd(ctx context.Context, t *proc.Terminal) error {
	if err := i.take(ctx); err != nil {
		return err
	}
	defer i.giveUp()
	char, lines := t.EndOfInput()
	end := []byte{char}
	if lines && i.midLine {
		end = append(end, char) // the first one ends the line
	}
	_, err := i.put(ctx, end)
	i.midLine = false
	return err
}

// close ends the input after what is being written. It does not wait: the holder of the
// turn closes it.
func (i *inlet) close() error {
	if i == nil {
		return ErrInputClosed
	}
	already := i.closing.Swap(true)
	select {
	case i.turn <- struct{}{}:
		if !i.ended {
			i.shut()
		}
		<-i.turn
	default: // who has the turn sees it
	}
	if already {
		return ErrInputClosed
	}
	return nil
}

// shut closes the file. The caller has the turn.
func (i *inlet) shut() {
	i.ended = true
	_ = i.to.Close()
}

// end closes the input when the command has ended. Every call that writes or waits
// returns.
func (i *inlet) end() {
	if i == nil {
		return
	}
	i.commandEnded.Store(true)
	i.closing.Store(true)
	_ = i.to.SetWriteDeadline(time.Unix(1, 0))
	i.turn <- struct{}{}
	if !i.ended {
		i.shut()
	}
	<-i.turn
}
