package session

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"tipstaff"
)

// maxWaiting is how many commands of one session may wait for their turn (contract B7).
const maxWaiting = 16

// turns is the queue of one session: one command runs, the others wait in the
// order in which they came. The entry's lock guards it.
type turns struct {
	taken   bool
	waiting []chan struct{} // closed when it is this one's turn
	empty   []chan struct{} // closed when no command runs or waits
}

// enter waits for the command's turn. On success the caller must leave.
func (e *entry) enter(ctx context.Context, queued func()) error {
	turn, err := e.queue()
	queued()
	if err != nil {
		return err
	}
	select {
	case <-turn:
		if e.ctx.Err() != nil {
			e.leave()
			return tipstaff.NoSession(string(e.id))
		}
	case <-ctx.Done():
		e.giveUp(turn)
		return &tipstaff.Error{
			Code: tipstaff.ExecutionError, Rule: "cancelled", Err: context.Cause(ctx),
			Msg: "The call was cancelled while the command waited for its turn; nothing ran.",
		}
	case <-e.ctx.Done():
		e.giveUp(turn)
		return tipstaff.NoSession(string(e.id))
	}
	return nil
}

// queue adds a place; the channel is closed when its turn has come.
func (e *entry) queue() (chan struct{}, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return nil, tipstaff.NoSession(string(e.id))
	}
	turn := make(chan struct{})
	switch {
	case !e.turns.taken:
		e.turns.taken = true
		close(turn)
		if e.expiry != nil {
			e.expiry.Stop() // a session with a command is not idle
		}
	case len(e.turns.waiting) >= maxWaiting:
		return nil, busy()
	default:
		e.turns.waiting = append(e.turns.waiting, turn)
	}
	return turn, nil
}

// giveUp removes a waiting command from the queue, or passes on a turn that
// came at the same moment.
func (e *entry) giveUp(turn chan struct{}) {
	e.mu.Lock()
	i := slices.Index(e.turns.waiting, turn)
	if i >= 0 {
		e.turns.waiting = slices.Delete(e.turns.waiting, i, i+1)
	}
	e.mu.Unlock()
	if i < 0 {
		e.leave()
	}
}

// leave ends a turn. The next command takes over; if there is none, the idle
// time starts.
func (e *entry) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.turns.waiting) > 0 {
		close(e.turns.waiting[0])
		e.turns.waiting = e.turns.waiting[1:]
		return
	}
	e.turns.taken = false
	for _, c := range e.turns.empty {
		close(c)
	}
	e.turns.empty = nil
	e.startIdling()
}

// none returns a channel that is closed when the session has no command left.
func (t *turns) none(mu *sync.Mutex) <-chan struct{} {
	mu.Lock()
	defer mu.Unlock()
	c := make(chan struct{})
	if t.taken {
		t.empty = append(t.empty, c)
	} else {
		close(c)
	}
	return c
}

func busy() error {
	return &tipstaff.Error{
		Code: tipstaff.ExecutionError, Rule: "session",
		Msg:     fmt.Sprintf("The session is busy: one command is running and %d are waiting", maxWaiting),
		Hint:    "Wait for an answer before you ask for more, or use another session: sessions run side by side.",
		Details: map[string]any{"waiting": maxWaiting},
	}
}
