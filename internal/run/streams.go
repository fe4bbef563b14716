package run

import (
	"cmp"
	"context"
	"os"
	"sync"
	"time"

	"tipstaff"
	"tipstaff/internal/output/capture"
	"tipstaff/internal/output/recording"
	"tipstaff/internal/policy"
	"tipstaff/internal/proc"
)

// streams are the pipes of one command: the ends of the child until it is started, and
// our ends until it has ended. A command with a terminal has one stream, which exists
// once it is started. Streams that were handed over belong to the caller, and we have
// no end of them.
type streams struct {
	handed bool
	more   []*os.File

	childIn, childOut, childErr *os.File
	fromOut, fromErr            *os.File
	inlet                       *inlet // nil: there is no input
	stays                       bool   // the input, behind text
	text                        []byte
	input                       proc.Input // what the command waits at for input

	size     *tipstaff.TerminalSize // of the terminal; nil: there is none
	terminal *proc.Terminal         // from the start on
	tape     *recording.Recording   // nil without one

	out, err *capture.Buffer
	draining sync.WaitGroup
	feeding  sync.WaitGroup
}

// openStreams makes the pipes, or takes those of the caller. A command without input
// reads /dev/null, so that it does not wait for a person.
func openStreams(g *policy.Grant, live Live) (*streams, error) {
	if h := live.Streams; h != nil {
		return &streams{handed: true, childIn: h.In, childOut: h.Out, childErr: h.Err, more: h.More}, nil
	}
	req, room := g.Request(), capture.Room(g.OutputBytes())
	s := &streams{text: req.Stdin, stays: req.Background, out: capture.NewBuffer(room), err: capture.NewBuffer(room)}
	if req.Terminal != nil {
		s.size = &tipstaff.TerminalSize{Rows: cmp.Or(req.Terminal.Rows, usualRows), Columns: cmp.Or(req.Terminal.Columns, usualColumns)}
		return s, nil
	}
	var err error
	if s.fromOut, s.childOut, err = proc.Pipe(true); err != nil {
		return nil, err
	}
	if s.fromErr, s.childErr, err = proc.Pipe(true); err == nil && (req.Stdin != nil || req.Background) {
		err = s.openInput()
	}
	if err != nil {
		s.closeChildEnds()
		s.abandon()
		return nil, err
	}
	return s, nil
}

// The size of a terminal for which none is given.
const usualRows, usualColumns = 24, 80

// openInput makes the pipe of the standard input.
func (s *streams) openInput() error {
	ours, theirs, err := proc.Pipe(false)
	if err != nil {
		return err
	}
	s.inlet, s.childIn = newInlet(ours), theirs
	s.input, err = proc.InputOf(theirs)
	return err
}

// attach takes the terminal of a command that was started with one.
func (s *streams) attach(t *proc.Terminal) {
	if t == nil || s.handed {
		return
	}
	s.terminal, s.fromOut, s.inlet, s.input = t, t.File, newInlet(t.File), t.Input()
}

// closeChildEnds closes our copies of the child's ends.
func (s *streams) closeChildEnds() {
	if !s.handed {
		closeAll(s.childIn, s.childOut, s.childErr)
	}
}

// abandon closes our ends when nothing was started.
func (s *streams) abandon() {
	s.inlet.end()
	closeAll(s.fromOut, s.fromErr)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// pump drains the outputs and feeds the input until they end.
func (s *streams) pump(c *steering) {
	if s.handed {
		return
	}
	s.draining.Go(func() { capture.Drain(s.out, s.fromOut) })
	if s.fromErr != nil {
		s.draining.Go(func() { capture.Drain(s.err, s.fromErr) })
	}
	switch {
	case s.inlet == nil:
	case s.terminal == nil:
		s.feeding.Go(s.feed)
	default:
		s.feeding.Go(func() { s.typeIn(c) })
	}
}

// feed writes the input that the command was asked for with, before any other.
// A program that does not read its input is not an error (contract A12).
func (s *streams) feed() {
	defer s.inlet.giveUp()
	_, _ = s.inlet.put(context.Background(), s.text)
	if !s.stays {
		s.inlet.closing.Store(true)
	}
}

// typeIn is feed for a terminal. It types the end of the input only when a program
// waits for more: earlier, a program that reads single keys would take it for one.
func (s *streams) typeIn(c *steering) {
	_, err := s.inlet.put(context.Background(), s.text)
	s.inlet.giveUp()
	if err != nil || s.stays || s.text == nil {
		return
	}
	const first, last = 10 * time.Millisecond, 200 * time.Millisecond
	for pause := first; !c.WaitsForInput(); pause = min(2*pause, last) {
		select {
		case <-c.running.Done():
			return
		case <-time.After(pause):
		}
	}
	_ = s.inlet.typeEnd(c.running, s.terminal)
}

// finish reads the rest of the output, at most for grace after the end of the program:
// another process that holds a pipe open must not delay the answer.
func (s *streams) finish(grace time.Duration) {
	if s.handed {
		return
	}
	limit := time.Now().Add(grace)
	_ = s.fromOut.SetReadDeadline(limit)
	if s.fromErr != nil {
		_ = s.fromErr.SetReadDeadline(limit)
	}
	s.draining.Wait()
	capture.Rest(s.out, s.fromOut)
	if s.fromErr != nil {
		capture.Rest(s.err, s.fromErr)
	}
	s.abandon()
	s.feeding.Wait()
}

// output returns what was kept of both outputs.
func (s *streams) output() (out, err tipstaff.Stream) {
	if s.handed {
		return out, err
	}
	return s.out.Stream(), s.err.Stream()
}
