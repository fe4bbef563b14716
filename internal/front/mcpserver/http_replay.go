package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// replays keeps what was sent on the streams of the stateful protocol, for
// clients whose connection broke (Last-Event-ID). It keeps the newest events of
// all sessions together, up to a bound; the library's own store never removes a
// stream.
type replays struct {
	most int

	mu       sync.Mutex
	size     int
	sessions map[string]map[string]*replay
	oldest   []kept // in the order of their arrival
}

var _ mcp.EventStore = (*replays)(nil)

// replay is one stream.
type replay struct {
	session, stream string

	first  int // the index of events[0]
	events [][]byte
	gone   bool // its session has ended
}

// kept is one event that can be dropped.
type kept struct {
	of   *replay
	size int
}

// eventCost estimates the bytes that an event takes in addition to its data,
// including its share of the stream.
const eventCost = 256

func newReplays(most int) *replays {
	return &replays{most: most, sessions: map[string]map[string]*replay{}}
}

// standalone is the stream of a session that belongs to no request. It lives as
// long as the session and most never carry anything, so it is kept only from
// its first event on.
const standalone = ""

// Open begins to keep a stream, which the request in ctx holds.
func (r *replays) Open(ctx context.Context, session, stream string) error {
	if in, ok := ctx.Value(requestKey{}).(*inbound); ok && in.post.hold != nil {
		in.peer.web.take(ctx, stream, in.post.hold)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if stream != standalone {
		r.open(session, stream)
	}
	return nil
}

// Append keeps an event. Nothing more is kept of a stream that has been
// dropped, because the indexes of its events are lost.
func (r *replays) Append(_ context.Context, session, stream string, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.sessions[session][stream]
	switch {
	case of == nil && stream == standalone:
		of = r.open(session, stream)
	case of == nil:
		return errForgotten
	}
	of.events = append(of.events, bytes.Clone(mended(data)))
	r.oldest = append(r.oldest, kept{of, len(data) + eventCost})
	r.size += len(data) + eventCost
	for r.size > r.most && len(r.oldest) > 0 {
		r.forget()
	}
	return nil
}

func (r *replays) open(session, stream string) *replay {
	streams := r.sessions[session]
	if streams == nil {
		streams = map[string]*replay{}
		r.sessions[session] = streams
	}
	of := &replay{session: session, stream: stream}
	streams[stream] = of
	return of
}

// forget drops the oldest event, and its stream if it was the last one.
func (r *replays) forget() {
	k := r.oldest[0]
	r.oldest[0] = kept{}
	r.oldest = r.oldest[1:]
	r.size -= k.size
	if k.of.gone {
		return
	}
	k.of.events[0] = nil
	k.of.events = k.of.events[1:]
	k.of.first++
	if len(k.of.events) == 0 && k.of.stream != standalone {
		if delete(r.sessions[k.of.session], k.of.stream); len(r.sessions[k.of.session]) == 0 {
			delete(r.sessions, k.of.session)
		}
	}
}

var errForgotten = errors.New("these events are no longer kept")

// After returns the events of a stream after index.
func (r *replays) After(_ context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	events, err := r.after(session, stream, index)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (r *replays) after(session, stream string, index int) ([][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.sessions[session][stream]
	switch {
	case of == nil && index < 0:
		return nil, nil // nothing has been sent on it
	case of == nil || index+1 < of.first:
		return nil, errForgotten
	}
	return slices.Clone(of.events[min(index+1-of.first, len(of.events)):]), nil
}

// SessionClosed does nothing: whatever closes a session calls drop.
func (r *replays) SessionClosed(context.Context, string) error { return nil }

// drop removes the streams of a session.
func (r *replays) drop(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.sessions[session] {
		r.lose(of)
	}
	delete(r.sessions, session)
}

// lose removes a stream. Its events are dropped when they become the oldest.
func (*replays) lose(of *replay) {
	if of != nil {
		of.gone, of.events = true, nil
	}
}
