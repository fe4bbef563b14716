package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// line is what is under way between an operator and one member.
type line struct {
	fleet *Fleet
	peer  natsx.Peer
	token string
	parts gathered

	came  chan struct{} // something is in waits
	mu    sync.Mutex
	waits []natsx.Message
	bytes int // of waits
}

func (f *Fleet) open(p natsx.Peer) *line {
	l := &line{fleet: f, peer: p, token: rand.Text(), came: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines[l.token] = l
	return l
}

func (l *line) close() {
	l.fleet.mu.Lock()
	defer l.fleet.mu.Unlock()
	delete(l.fleet.lines, l.token)
}

// hear hands a part to its line. It does not block.
func (f *Fleet) hear(m natsx.Message) {
	from, token, err := natsx.ParseTold(m.Subject)
	if err != nil {
		return
	}
	f.mu.Lock()
	l := f.lines[token]
	f.mu.Unlock()
	if l == nil || l.peer != from {
		return // it is over, or none of this member's
	}
	l.mu.Lock()
	if len(l.waits) < mostOfSmall && l.bytes <= 2*maxReply { // more has no reply
		l.waits = append(l.waits, m)
		l.bytes += len(m.Data)
	}
	l.mu.Unlock()
	select {
	case l.came <- struct{}{}:
	default:
	}
}

// take returns the message that came first of those that wait.
func (l *line) take() (m natsx.Message, is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waits) == 0 {
		return m, false
	}
	m = l.waits[0]
	l.waits = l.waits[1:]
	l.bytes -= len(m.Data)
	return m, true
}

// send sends a request. Each time it is signed anew: none counts twice.
func (l *line) send(r request) error {
	f := l.fleet
	body, err := json.Marshal(asked{l.token, r})
	if err != nil {
		return err
	}
	st := natsx.PersonStatement{Peer: l.peer.String(), Person: natsx.Person{Name: f.person.Name, UID: f.person.UID}}
	statement, err := f.signer.SignPerson(st, body)
	if err != nil {
		return err
	}
	message := enclose(statement, body)
	if len(message) > maxWish {
		return fmt.Errorf("the request is of %d bytes, and %d are the limit", len(message), maxWish)
	}
	return f.conn.Publish(l.peer.Hears(), l.peer.Tells(f.self, l.token), message)
}

// errNobody: the servers of the engine say that nobody listens there.
var errNobody = errors.New("its process has ended or is cut off, or it knows no operators; one that has ended is forgotten within half a minute")

// A peer that connects again is not there for a moment: it is asked again for so long.
const (
	nobodyFor   = 600 * time.Millisecond
	nobodyAgain = 150 * time.Millisecond
)

// next returns the next whole reply, within a time. The error is errNobody,
// errNotHeard, or that of ctx.
func (l *line) next(ctx context.Context, within time.Duration) (reply, error) {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		for m, is := l.take(); is; m, is = l.take() {
			if m.Nobody {
				return reply{}, errNobody
			}
			r, whole, err := l.parts.add(m.Data)
			if err != nil {
				return reply{}, fmt.Errorf("cannot understand it: %w", err)
			}
			if whole {
				return r, nil
			}
		}
		select {
		case <-l.came:
		case <-late.C:
			return reply{}, errNotHeard
		case <-ctx.Done():
			return reply{}, context.Cause(ctx)
		}
	}
}

// ask sends one request to a member and returns its reply, within a time.
func (f *Fleet) ask(ctx context.Context, p natsx.Peer, r request, within time.Duration) (reply, error) {
	l := f.open(p)
	defer l.close()
	return l.ask(ctx, r, within)
}

// ask sends a request and returns the reply. It is sent again only if nobody has got
// it.
func (l *line) ask(ctx context.Context, r request, within time.Duration) (reply, error) {
	began := time.Now()
	for {
		if err := l.send(r); err != nil {
			return reply{}, err
		}
		out, err := l.next(ctx, within-time.Since(began))
		switch {
		case errors.Is(err, errNobody) && time.Since(began) < nobodyFor:
			select {
			case <-time.After(nobodyAgain):
			case <-ctx.Done():
				return reply{}, context.Cause(ctx)
			}
			continue
		case err != nil:
			return reply{}, err
		}
		return out, out.err()
	}
}
