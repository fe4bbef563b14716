package control

import (
	"errors"
	"time"

	"tipstaff"
	"tipstaff/internal/freeze"
)

// look answers what is asked about what runs, and does what a person wants done.
func (s *Server) look(r request, who tipstaff.Person) reply {
	if s.house == nil {
		return reply{Error: "this server does not show what it does"}
	}
	switch r.Op {
	case opNow:
		now := s.house.Now()
		return reply{Now: &now}
	case opStop:
		out, known := s.house.Stop(who, r.ID, r.Kill)
		if !known {
			return reply{Unknown: true, Error: ErrUnknown.Error()}
		}
		s.log.Info("a person has stopped something", "id", r.ID, "kill", r.Kill, "by", who.Name)
		return reply{Stopped: &out}
	}
	if r.Target == nil {
		return reply{Error: noRequest}
	}
	if r.Op == opLift {
		e, err := s.house.Lift(who, *r.Target)
		switch {
		case errors.Is(err, freeze.ErrNotFrozen):
			return reply{NotFrozen: true, Error: err.Error()}
		case err != nil:
			return reply{Error: err.Error()}
		}
		s.log.Info("a person has lifted a freeze", "of", r.Target.String(), "by", who.Name)
		return reply{Entry: &e}
	}
	e := freeze.Entry{Target: *r.Target, Why: r.Why, By: who.Name, UID: who.UID, At: time.Now().UTC().Truncate(time.Millisecond)}
	in, already, ended, err := s.house.Freeze(who, e)
	if err != nil {
		return reply{Error: err.Error()}
	}
	s.log.Info("a person has frozen a caller", "who", r.Target.String(), "by", who.Name)
	return reply{Entry: &in, Already: already, Stopped: &ended}
}
