package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// An operator pulls what a command prints, one event after the other: it asks for the
// next one by its number, and asks again for one that has not come. So at most one
// event is under way for a follower, one that is lost comes again, and a slow reader
// holds up nothing: what comes faster than it reads is left out and counted, as for a
// follower on this host.

// pullKey is a follower: an operator's process, and its token for this.
type pullKey struct {
	operator natsx.Address
	token    string
}

// pull is one command that is followed. Its events are said by a [follower].
type pull struct {
	answer func(reply)
	idle   *time.Timer // ends it when nobody asks any more

	mu     sync.Mutex
	number uint64 // of last
	last   *reply // the event that was said last, until the next one is wanted
	wanted bool   // the event after number is asked for
	next   chan struct{}
}

// errLeft: whoever followed has stopped to ask.
var errLeft = errors.New("the follower has gone")

// follow takes a request of a follower: for the first event of a command, or the next
// of one that is followed already.
func (m *Member) follow(key pullKey, r request, to string) {
	m.mu.Lock()
	p := m.pulls[key]
	m.mu.Unlock()
	switch {
	case p != nil:
		p.ask(r)
	case r.Enough:
	case r.Number > 1:
		m.say(to, reply{Number: r.Number, Error: "this command was not asked for so long that it is followed no more"})
	default:
		if full := m.open(key, r, to); full {
			m.say(to, reply{Number: 1, Error: fmt.Sprintf("%d operators follow commands here, and no more can", mostFollowing)})
		}
	}
}

// open begins to follow a command; full: no more can be followed.
func (m *Member) open(key pullKey, r request, to string) (full bool) {
	of, known := m.service.Find(r.ID)
	if !known {
		m.say(to, reply{Number: 1, Unknown: true, Error: ErrUnknown.Error()})
		return false
	}
	ctx, end := context.WithCancelCause(m.ctx)
	p := &pull{answer: func(r reply) { m.say(to, r) }, wanted: true, next: make(chan struct{})}
	p.idle = time.AfterFunc(slowest, func() { end(errLeft) })
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed || m.pulls[key] != nil: // the request came twice at once
		p.idle.Stop()
		end(nil)
		return false
	case len(m.pulls) >= mostFollowing:
		p.idle.Stop()
		end(nil)
		return true
	}
	m.pulls[key] = p
	m.serving.Go(func() {
		f := follower{of: of, say: func(r reply) error { return p.say(ctx, r) }}
		if err := f.run(ctx); err != nil && ctx.Err() == nil {
			m.log.Info("an operator follows a command no more", "command_id", r.ID, "error", err)
		}
		p.idle.Stop()
		end(nil)
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.pulls, key)
	})
	return false
}

// say has one event sent when it is asked for, and returns when the next one is.
func (p *pull) say(ctx context.Context, r reply) error {
	p.mu.Lock()
	p.number++
	r.Number = p.number
	p.last = &r
	if p.wanted {
		p.wanted = false
		p.answer(r)
	}
	next := make(chan struct{})
	p.next = next
	p.mu.Unlock()
	select {
	case <-next:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask takes a request for an event: for the one that was said, which is said again,
// or for the next one.
func (p *pull) ask(r request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle.Reset(slowest)
	switch {
	case r.Enough:
		p.idle.Reset(0)
	case p.last != nil && r.Number == p.number:
		p.answer(*p.last)
	case r.Number != p.number+1: // an old one that was late
	case p.last != nil:
		p.last, p.wanted = nil, true
		close(p.next)
	default: // it was asked for before, and there is none yet
		p.wanted = true
		p.answer(reply{})
	}
}
