package script

import (
	"sync"

	"tipstaff"
)

// mostState bounds what a session keeps of its scripts, in bytes.
const mostState = 256 << 10

// state is what a script leaves to the next one of its session.
type state struct {
	directory string // as the commands of the session see it
	text      string // variables and functions, as text of the language
}

// states are those of the sessions that live. The zero states are ready for use.
type states struct {
	mu  sync.Mutex
	all map[tipstaff.SessionID]state
}

func (s *states) of(id tipstaff.SessionID) state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// keep keeps the state of a session, and reports whether it is small enough. One that
// is not leaves the last one as it was.
func (s *states) keep(id tipstaff.SessionID, st state) bool {
	if id == "" {
		return true
	}
	if len(st.directory)+len(st.text) > mostState {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[tipstaff.SessionID]state{}
	}
	s.all[id] = st
	return true
}

func (s *states) forget(id tipstaff.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}
