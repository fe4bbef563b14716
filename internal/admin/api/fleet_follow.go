package api

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// againAfter is how long a follower waits for an event before it asks again: so
	// long a message that was lost holds it up.
	againAfter = time.Second
	// goneAfter is how long a member may be silent that is asked for an event.
	goneAfter = 8 * time.Second
)

// Follow calls each with what a command prints, as [Follow].
func (f *Fleet) Follow(ctx context.Context, id string, each func(Event) error) error {
	l, first, err := f.find(ctx, id)
	if err != nil {
		return err
	}
	defer l.close()
	number := uint64(1)
	defer func() { _ = l.send(request{Op: opFollow, ID: id, Number: number, Enough: true}) }() // else it ends by itself
	for r := first; ; {
		if r.Event != nil {
			if c := r.Event.Command; c != nil {
				c.Member = l.peer.Called()
			}
			if err := each(*r.Event); err != nil {
				return err
			}
			if r.Event.Kind == KindEnd {
				return nil
			}
		}
		number++
		if r, err = l.pull(ctx, request{Op: opFollow, ID: id, Number: number}); err != nil {
			return err
		}
	}
}

// find asks all members for the first event of a command, and returns the line to the
// one that knows it.
func (f *Fleet) find(ctx context.Context, id string) (*line, reply, error) {
	peers, err := f.present(ctx, true)
	if err != nil {
		return nil, reply{}, err
	}
	type found struct {
		line  *line
		reply reply
		err   error
	}
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	all := make(chan found, len(peers))
	var known atomic.Bool
	for _, p := range peers {
		go func() { // ends within lookPatience
			l := f.open(p)
			r, err := l.ask(ctx, request{Op: opFollow, ID: id, Number: 1}, lookPatience)
			if err == nil && known.Swap(true) {
				err = ErrUnknown // a gateway and its runner may both know it: one line is enough
			}
			if err != nil {
				l.close()
				if !errors.Is(err, ErrUnknown) {
					err = fmt.Errorf("%s: %w", p.Called(), err)
				}
			}
			all <- found{l, r, err}
		}()
	}
	failed := error(ErrUnknown)
	for range peers {
		got := <-all
		if got.err == nil {
			return got.line, got.reply, nil
		}
		if !errors.Is(got.err, ErrUnknown) {
			failed = got.err
		}
	}
	if ctx.Err() != nil {
		return nil, reply{}, context.Cause(ctx)
	}
	return nil, reply{}, failed
}

// pull asks for one event until it has come.
func (l *line) pull(ctx context.Context, r request) (reply, error) {
	heard := time.Now()
	for {
		err := l.send(r)
		for err == nil {
			var out reply
			if out, err = l.next(ctx, againAfter); err != nil {
				break
			}
			heard = time.Now()
			if fault := out.err(); fault != nil {
				return reply{}, fault
			}
			if out.Number == r.Number {
				return out, nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return reply{}, context.Cause(ctx)
		case time.Since(heard) > goneAfter:
			return reply{}, fmt.Errorf("%s has fallen silent: %w", l.peer.Called(), err)
		case errors.Is(err, errNotHeard):
			continue
		}
		select {
		case <-time.After(nobodyAgain):
		case <-ctx.Done():
			return reply{}, context.Cause(ctx)
		}
	}
}
