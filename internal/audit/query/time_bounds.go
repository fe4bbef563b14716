package query

import "slices"

// A trail of which it is known when it begins and ends is not even opened before its
// time has come: in a place where each look costs, most of many trails never are.

// setTimeBounds puts off finding out what is to be read of a trail, and decides by what is known
// of its times when its turn is. Nothing is unread of a trail that lies outside of the
// bounds.
func (s *source) setTimeBounds() {
	f, t := s.of.judge.filter, s.trail
	out := !f.Since.IsZero() && !t.Before.IsZero() && !t.Before.After(f.Since) ||
		!f.Until.IsZero() && !t.Began.IsZero() && !t.Began.Before(f.Until)
	s.unread = !out
	switch {
	case !s.of.reverse:
		s.begins = t.Began
	case !f.Until.IsZero() && f.Until.Before(t.Before):
		s.begins = f.Until
	default:
		s.begins = t.Before
	}
}

// findParts finds out which parts of the trail to read.
func (s *source) findParts() (err error) {
	f := s.of.judge.filter
	s.unread = false
	if s.parts, err = s.trail.parts(f.Since, f.Until); err == nil && s.of.reverse {
		slices.Reverse(s.parts)
	}
	return err
}
