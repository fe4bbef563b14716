package session

import (
	"errors"

	"tipstaff"
)

// What people of the host may do, who look after the sessions of all owners. Callers
// must not get here.

// All returns all sessions as they are now, in no order. It uses none of them.
func (st *Store) All() []tipstaff.Session {
	st.mu.Lock()
	entries := make([]*entry, 0, len(st.sessions))
	for _, e := range st.sessions {
		entries = append(entries, e)
	}
	st.mu.Unlock()
	all := make([]tipstaff.Session, len(entries))
	for i, e := range entries {
		all[i] = e.snapshot()
	}
	return all
}

// errPerson is why a session ends that a person has stopped.
var errPerson = errors.New("a person has stopped it")

// Stop ends a session for a person, as Close does for its owner, and returns when
// nothing of it is left; false if there is none. before is called first.
func (st *Store) Stop(id tipstaff.SessionID, before func(tipstaff.Session)) (tipstaff.Session, bool) {
	st.mu.Lock()
	e := st.sessions[id]
	st.mu.Unlock()
	if e == nil {
		return tipstaff.Session{}, false
	}
	before(e.snapshot())
	return e.snapshot(), st.end(e, errPerson)
}
