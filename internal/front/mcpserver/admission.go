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
	UsualCapacity = 256
	mostWaiting   = 8192     // calls that wait to be
	waitingBytes  = 32 << 20 // of their arguments
)

// admission bounds the calls of one caller that are carried out at once. They are admitted
// in the order in which they came; with no capacity every call waits.
type admission struct {
	capacity int

	mu      sync.Mutex
	taken   int
	waiting list.List // of *ticket
	bytes   int       // of those that wait
}

// ticket is one call that is admitted or waits to be.
type ticket struct {
	from  *admission
	size  int
	admit func()
	at    *list.Element // nil unless it waits
	has   bool          // it is admitted
}

// enter admits a call of so many bytes, or lets it wait. It calls admit once the call is
// admitted, with the admission locked: admit must not come back to it.
// False means that no more may wait; one may always.
func (r *admission) enter(size int, admit func()) (s *ticket, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.waiting.Len()
	s = &ticket{from: r, size: size, admit: admit}
	switch {
	case r.taken < r.capacity && n == 0:
		s.take()
	case n > 0 && (n >= mostWaiting || r.bytes+size > waitingBytes):
		return nil, false
	default:
		s.at = r.waiting.PushBack(s)
		r.bytes += size
	}
	return s, true
}

func (s *ticket) take() {
	s.has = true
	s.from.taken++
	s.admit()
}

// withdraw takes a call back that waits; false if it does not.
func (s *ticket) withdraw() bool {
	r := s.from
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.stopsWaiting()
}

func (s *ticket) stopsWaiting() bool {
	if s.at == nil {
		return false
	}
	s.from.waiting.Remove(s.at)
	s.from.bytes -= s.size
	s.at = nil
	return true
}

// leave ends the call. The one that has waited the longest is admitted.
func (s *ticket) leave() {
	r := s.from
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.stopsWaiting() || !s.has {
		return
	}
	s.has = false
	r.taken--
	if first := r.waiting.Front(); first != nil && r.taken < r.capacity {
		next := first.Value.(*ticket) //nolint:errcheck // there is nothing else in the list
		next.stopsWaiting()
		next.take()
	}
}

// byPrincipal holds an admission for each principal that has a call.
type byPrincipal struct {
	capacity int

	mu sync.Mutex
	of map[string]*principalAdmission
}

type principalAdmission struct {
	admission
	calls int // that are in it
}

// wait returns when a call of a principal is admitted, with the function that ends it. An error means that nothing may be carried out.
func (r *byPrincipal) wait(ctx context.Context, principal string, size int) (leave func(), err error) {
	own := r.join(principal)
	turn := make(chan struct{})
	s, ok := own.enter(size, func() { close(turn) })
	if !ok {
		r.part(principal, own)
		return nil, callsExhausted(r.capacity)
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

func (r *byPrincipal) join(principal string) *principalAdmission {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.of[principal]
	if own == nil {
		own = &principalAdmission{admission: admission{capacity: r.capacity}}
		if r.of == nil {
			r.of = map[string]*principalAdmission{}
		}
		r.of[principal] = own
	}
	own.calls++
	return own
}

func (r *byPrincipal) part(principal string, own *principalAdmission) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own.calls--; own.calls == 0 {
		delete(r.of, principal)
	}
}

func callsExhausted(places int) *tipstaff.Error {
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
