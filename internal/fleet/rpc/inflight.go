package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"tipstaff/internal/fleet/idempotency"
)

var (
	errCallerLeft = errors.New("the call was cancelled")
	errUnasked    = errors.New("nobody can be asked at the caller's end")
)

// inflightCall is a call that is being carried out, with all who wait for it: the
// [Caller] of the carrier.
type inflightCall struct {
	mu       sync.Mutex
	streams  []*stream
	progress []byte // the last one; nil: none yet
	open     map[*question]struct{}
}

// question waits for a person's answer.
type question struct {
	text    []byte
	put     map[*stream]uint64 // where it was put, by which number
	answers chan reply
}

// inflightOf returns the call of an entry, and makes it if there is none.
func (r *Runner) inflightOf(e *idempotency.Entry[[]byte]) *inflightCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[e]
	if c == nil {
		c = &inflightCall{open: map[*question]struct{}{}}
		r.calls[e] = c
	}
	return c
}

func (r *Runner) forget(e *idempotency.Entry[[]byte]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, e)
}

// join adds a stream to those of a call that is being carried out, and says there
// how it goes.
func (r *Runner) join(s *stream) {
	select {
	case <-s.entry.Done():
		return // the answer follows
	default:
	}
	c := r.inflightOf(s.entry)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished || s.complete {
		return
	}
	s.call = c
	c.streams = append(c.streams, s)
	if c.progress != nil {
		s.send(frame(frameProgress, 0, c.progress))
	}
	for q := range c.open {
		q.put[s] = s.put(frameQuestion, q.text)
	}
	s.flush()
}

// part removes a stream.
func (c *inflightCall) part(s *stream) {
	go func() { // the stream is locked, and calls come before streams
		c.mu.Lock()
		defer c.mu.Unlock()
		c.streams = slices.DeleteFunc(c.streams, func(other *stream) bool { return other == s })
	}()
}

// Tell implements [Caller].
func (c *inflightCall) Tell(p Progress) {
	data, err := json.Marshal(p)
	if err != nil || len(data) > MaxFrame {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = data
	for _, s := range c.streams {
		s.send(frame(frameProgress, 0, data))
	}
}

// Ask implements [Caller]: it asks at all ends, and the first answer counts.
func (c *inflightCall) Ask(ctx context.Context, text []byte) ([]byte, error) {
	q := &question{text: text, put: map[*stream]uint64{}, answers: make(chan reply, 1)}
	c.mu.Lock()
	c.open[q] = struct{}{}
	for _, s := range c.streams {
		s.mu.Lock()
		if !s.finished {
			q.put[s] = s.put(frameQuestion, text)
			s.flush()
		}
		s.mu.Unlock()
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, q)
	}()
	select {
	case r := <-q.answers:
		if r.Error != "" {
			return nil, errUnasked
		}
		return r.Answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// MayReturn implements [Caller]; here the streams know.
func (c *inflightCall) MayReturn() bool { return false }

// replied hands an answer to its question.
func (c *inflightCall) replied(s *stream, number uint64, r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for q := range c.open {
		if n, put := q.put[s]; put && n == number {
			select {
			case q.answers <- r:
			default: // another end was faster
			}
		}
	}
}
