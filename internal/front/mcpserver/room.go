package mcpserver

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"tipstaff"
)

// Bounds of the calls that run something and are in flight at once, of one caller: of a
// connection over stdio, of a principal over HTTP. Each costs descriptors and tens of
// kilobytes while it is being carried out, and far less while it waits to be: with
// thousands at once the collector would do most of the work. What runs nothing
// (stop_command, read_output, terminal_close_session, cancellations) never waits, so
// that a caller can always end what it has started.
const (
	// UsualPlaces is how many calls are carried out at once if Options say nothing.
	UsualPlaces  = 256
	mostWaiting  = 8192     // calls that wait to be
	waitingBytes = 32 << 20 // of their arguments
)

// room is where the calls of one caller get their places, in the order in which they
// came. In a room without places every call waits.
type room struct {
	places int

	mu      sync.Mutex
	taken   int
	waiting list.List // of *stay
	bytes   int       // of those that wait
}

// stay is one call in a room.
type stay struct {
	room  *room
	size  int
	admit func()
	at    *list.Element // nil unless it waits
	has   bool          // it has a place
}

// enter gives a call of so many bytes a place, or lets it wait for one. It calls admit
// once the call has its place, with the room locked: admit must not come back to it.
// False means that no more may wait; one may always.
func (r *room) enter(size int, admit func()) (s *stay, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.waiting.Len()
	s = &stay{room: r, size: size, admit: admit}
	switch {
	case r.taken < r.places && n == 0:
		s.take()
	case n > 0 && (n >= mostWaiting || r.bytes+size > waitingBytes):
		return nil, false
	default:
		s.at = r.waiting.PushBack(s)
		r.bytes += size
	}
	return s, true
}

func (s *stay) take() {
	s.has = true
	s.room.taken++
	s.admit()
}

// withdraw takes a call back that waits; false if it does not.
func (s *stay) withdraw() bool {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.stopsWaiting()
}

func (s *stay) stopsWaiting() bool {
	if s.at == nil {
		return false
	}
	s.room.waiting.Remove(s.at)
	s.room.bytes -= s.size
	s.at = nil
	return true
}

// leave ends a stay. A place goes to the call that has waited for the longest.
func (s *stay) leave() {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.stopsWaiting() || !s.has {
		return
	}
	s.has = false
	r.taken--
	if first := r.waiting.Front(); first != nil && r.taken < r.places {
		next := first.Value.(*stay) //nolint:errcheck // there is nothing else in the list
		next.stopsWaiting()
		next.take()
	}
}

// rooms are those of principals. A room is there while a call is in it.
type rooms struct {
	places int

	mu sync.Mutex
	of map[string]*sharedRoom
}

type sharedRoom struct {
	room
	calls int // that are in it
}

// wait returns when a call of a principal has its place, with the function that gives
// it back. An error means that nothing may be carried out.
func (r *rooms) wait(ctx context.Context, principal string, size int) (leave func(), err error) {
	own := r.join(principal)
	turn := make(chan struct{})
	s, ok := own.enter(size, func() { close(turn) })
	if !ok {
		r.part(principal, own)
		return nil, noRoom(r.places)
	}
	leave = func() { s.leave(); r.part(principal, own) }
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, gaveUpWaiting(ctx)
	}
}

func (r *rooms) join(principal string) *sharedRoom {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.of[principal]
	if own == nil {
		own = &sharedRoom{room: room{places: r.places}}
		if r.of == nil {
			r.of = map[string]*sharedRoom{}
		}
		r.of[principal] = own
	}
	own.calls++
	return own
}

func (r *rooms) part(principal string, own *sharedRoom) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own.calls--; own.calls == 0 {
		delete(r.of, principal)
	}
}

func noRoom(places int) *tipstaff.Error {
	return &tipstaff.Error{
		Code: tipstaff.Busy, Rule: "calls",
		Msg:     fmt.Sprintf("%d of your calls are being carried out, and as many wait as may, so nothing of this one was started.", places),
		Hint:    "Wait until some of them are answered, then call again.",
		Details: map[string]any{"retry_after_ms": 1000},
	}
}

func gaveUpWaiting(ctx context.Context) *tipstaff.Error {
	return &tipstaff.Error{
		Code: tipstaff.ExecutionError, Rule: "cancelled", Err: context.Cause(ctx),
		Msg: "The call was cancelled while it waited for its turn; nothing ran.",
	}
}
