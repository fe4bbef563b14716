package session

import (
	"context"
	"time"

	"tipstaff"
)

// Member is the part of a session in a command that runs beside its order, in
// the background.
type Member struct {
	// Session is the session as it was when the command joined.
	Session tipstaff.Session

	entry *entry
	count int // of the session's commands, when this one had begun in its turn
}

// Join adds a command in the background to a session: it takes no turn, and waits
// for none. The session's end waits for it, so the caller must leave.
func (st *Store) Join(principal string, id tipstaff.SessionID) (*Member, error) {
	e, err := st.find(principal, id)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return nil, tipstaff.NoSession(string(id))
	}
	e.members.Add(1)
	if !e.turns.taken {
		e.startIdling()
	}
	return &Member{Session: e.session, entry: e}, nil
}

// Ended returns a channel that is closed when the session ends, and Cause why.
func (m *Member) Ended() <-chan struct{} { return m.entry.ctx.Done() }

// Cause returns why the session has ended; nil while it lives.
func (m *Member) Cause() error { return context.Cause(m.entry.ctx) }

// Started notes that the command was started. What the session is doing is said by
// the commands of its order alone.
func (m *Member) Started() {
	m.entry.mu.Lock()
	defer m.entry.mu.Unlock()
	m.entry.session.Commands++
	m.entry.session.LastCommand = time.Now().UTC()
}

// InTurn returns the member for a command that begins in its turn, and perhaps goes
// on without one: that it was started, the turn notes.
func (m *Member) InTurn() *TurnMember { return &TurnMember{m} }

// TurnMember is a [Member] that has a turn as well.
type TurnMember struct{ *Member }

// Started notes that the command's turn has begun with it.
func (m *TurnMember) Started() {
	m.entry.mu.Lock()
	defer m.entry.mu.Unlock()
	m.count = m.entry.session.Commands
}

// Finished notes how a command ended that went on without its turn. It changes
// nothing if another command has begun since.
func (m *TurnMember) Finished(r tipstaff.Result) {
	m.entry.mu.Lock()
	last := m.count == m.entry.session.Commands
	m.entry.mu.Unlock()
	if last {
		m.entry.finished(r)
	}
}

// Finished changes nothing: what the session is doing is said by the commands of
// its order alone.
func (*Member) Finished(tipstaff.Result) {}

// Leave says that nothing of the command is left. It is called once.
func (m *Member) Leave() { m.entry.members.Done() }
