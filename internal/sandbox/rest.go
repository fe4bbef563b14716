//go:build linux

package sandbox

import "time"

// restAfter is how long after the last call what is kept ready for others ends.
const restAfter = time.Minute

// begin notes that a call is there; the function that it gives, that it is over.
func (s *Sandbox) begin() (over func()) {
	s.calls.Add(1)
	return func() {
		s.lastCall.Store(time.Now().UnixNano())
		s.calls.Add(-1)
		s.restIn(restAfter)
	}
}

// restIn lets the sandbox rest after a while, unless that is due already.
func (s *Sandbox) restIn(after time.Duration) {
	if !s.restDue.Swap(true) {
		time.AfterFunc(after, func() {
			s.restDue.Store(false)
			s.behind(func() { s.rest(time.Now().Add(-restAfter)) })
		})
	}
}

// rest ends what nobody has used since a time: sandboxes that were made ahead, and the
// processes that wait for commands in those of sessions. Without any call since, one of
// them stays, that of the last command.
func (s *Sandbox) rest(since time.Time) {
	last := time.Unix(0, s.lastCall.Load())
	idle := s.calls.Load() == 0 && !last.After(since)
	type one struct {
		*room
		walls *walls
	}
	var ahead []*room
	var resting []one
	var latest time.Time
	s.mu.Lock()
	for _, c := range s.constraints {
		if !c.used.After(since) {
			ahead = append(ahead, c.takeAhead()...)
		}
	}
	for _, r := range s.rooms {
		r.mu.Lock()
		if r.users == 0 && r.walls != nil && !r.doomed && !r.used.After(since) {
			r.users++
			r.walls.users++
			resting = append(resting, one{r, r.walls})
			if n := len(resting) - 1; r.used.After(latest) { // the last one comes first
				latest = r.used
				resting[0], resting[n] = resting[n], resting[0]
			}
		}
		r.mu.Unlock()
	}
	s.mu.Unlock()
	for _, r := range ahead {
		r.close()
	}
	for i, r := range resting {
		keep := 0
		if idle && i == 0 {
			keep = 1
		}
		r.walls.enclosure.Rest(keep)
		r.drop(r.walls)
		r.part()
	}
	s.o.Engine.Rest(1)
	switch {
	case s.calls.Load() > 0:
		s.restIn(restAfter)
	case !idle:
		s.restIn(max(time.Second, last.Sub(since)))
	}
}
