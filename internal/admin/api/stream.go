package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"tipstaff/internal/output/clean"
	"tipstaff/internal/output/spool"
)

// A follower reads what is kept of a command, at its own pace: nothing waits for it,
// and nothing is kept for it. What comes faster than it reads is left out and counted.

const (
	// between is the least time between two events, and settle how long a line that
	// has no end stays unsaid: most get one at once, and half a secret is none that
	// is known.
	between = 50 * time.Millisecond
	settle  = 100 * time.Millisecond
	// behind is how much of an output a follower may be behind; what lies before is
	// left out.
	behind = 256 << 10
	// longestOpen bounds a line without an end that is said again and again.
	longestOpen = 8 << 10
	// sign is how often a server says that it lives.
	sign = 15 * time.Second
)

// follower follows one command.
type follower struct {
	of   Followed
	say  func(reply) error
	at   int64    // the output is said up to here
	open string   // the line without an end that was said last
	seen []string // the screen that was said last
	lost int64    // bytes that are to be told as lost
	// looked is up to where a line without an end was looked at.
	looked int64
}

// run says events until the command has ended, ctx is done, or say fails.
func (f *follower) run(ctx context.Context) error {
	c := f.of.Command()
	if err := f.say(reply{Event: &Event{Kind: KindCommand, Command: &c}}); err != nil {
		return err
	}
	alive := time.NewTicker(sign)
	defer alive.Stop()
	for quiet := false; ; {
		over := isDone(f.of.Done()) // before the look: one that has ended has printed all
		out, kept := f.of.Output()
		var changed <-chan struct{}
		if kept {
			changed = out.Changed() // before the look as well
			over = over && out.Done()
		}
		if err := f.look(out, kept, quiet || over); err != nil {
			return err
		}
		if over {
			c := f.of.Command()
			return f.say(reply{Event: &Event{Kind: KindEnd, Command: &c}})
		}
		var err error
		if quiet, err = f.wait(ctx, changed, kept, alive.C); err != nil {
			return err
		}
	}
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// wait waits until there may be something to say. quiet: nothing has come for as long
// as an open line stays unsaid.
func (f *follower) wait(ctx context.Context, changed <-chan struct{}, kept bool, alive <-chan time.Time) (quiet bool, err error) {
	pause := time.NewTimer(between)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	settled := time.NewTimer(settle)
	defer settled.Stop()
	done := f.of.Done()
	if kept {
		done = nil // the end of the output comes with it
	}
	for {
		select {
		case <-changed:
			return false, nil
		case <-done:
			return false, nil
		case <-settled.C:
			if !kept || f.unsaid() {
				return true, nil
			}
		case <-alive:
			if err := f.say(reply{}); err != nil {
				return false, err
			}
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// unsaid reports whether something has come that was not said.
func (f *follower) unsaid() bool {
	out, kept := f.of.Output()
	return kept && out.Size() > max(f.at, f.looked)
}

// look says what has come.
func (f *follower) look(out *spool.Output, kept, quiet bool) error {
	if lines, columns, has := f.of.Screen(); has {
		if f.seen != nil && slices.Equal(lines, f.seen) {
			return nil
		}
		f.seen = slices.Clip(lines)
		return f.say(reply{Event: &Event{Kind: KindScreen, Screen: lines, Columns: columns}})
	}
	if !kept {
		return nil
	}
	for {
		more, err := f.output(out, quiet)
		if errors.Is(err, spool.ErrGone) {
			return nil // it is kept no longer
		}
		if err != nil || !more {
			return err
		}
	}
}

// output says one part of the output, and reports whether there is more.
func (f *follower) output(out *spool.Output, quiet bool) (more bool, err error) {
	size, over := out.Size(), out.Done()
	if size-f.at > behind {
		f.lost += size - behind/2 - f.at
		f.at = size - behind/2
	}
	end, err := out.LineEnd(f.at, longestOpen)
	if err != nil {
		return false, err
	}
	if over || size-end > longestOpen {
		end = size
	}
	e := Event{Kind: KindOutput}
	if end > f.at {
		p, err := out.Read(f.at, int(min(end-f.at, behind/4)), spool.Both)
		if err != nil {
			return false, err
		}
		e.Text, _ = clean.Clean(p.Text)
		f.miss(p)
		more = p.Next > f.at && p.Next < end
		f.at = max(f.at, p.Next)
	}
	if !more && !over && (quiet || f.open != "") {
		p, err := out.Read(f.at, longestOpen, spool.Both)
		if err != nil {
			return false, err
		}
		e.Open, _ = clean.Clean(p.Text)
		f.looked = p.Next
	}
	e.Lost = f.lost
	if e.Text == "" && e.Open == f.open && e.Lost == 0 {
		return more, nil
	}
	f.open, f.lost = e.Open, 0
	return more, f.say(reply{Event: &e})
}

// miss counts what of a piece is not kept.
func (f *follower) miss(p spool.Excerpt) {
	f.lost += p.From - f.at
	if p.Lost && p.From == f.at {
		f.lost += max(1, p.Next-p.From-int64(len(p.Text)))
	}
}
