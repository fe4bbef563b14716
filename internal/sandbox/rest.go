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
		*sessionSandbox
		layers *layers
	}
	var ahead []*sessionSandbox
	var resting []one
	var latest time.Time
	s.mu.Lock()
	for _, c := range s.constraints {
		if !c.used.After(since) {
			ahead = append(ahead, c.takeAhead()...)
		}
	}
	for _, sess := range s.sessions {
		sess.mu.Lock()
		if sess.users == 0 && sess.layers != nil && !sess.doomed && !sess.used.After(since) {
			sess.users++
			sess.layers.users++
			resting = append(resting, one{sess, sess.layers})
			if n := len(resting) - 1; sess.used.After(latest) { // the last one comes first
				latest = sess.used
				resting[0], resting[n] = resting[n], resting[0]
			}
		}
		sess.mu.Unlock()
	}
	s.mu.Unlock()
	for _, sess := range ahead {
		sess.close()
	}
	for i, r := range resting {
		keep := 0
		if idle && i == 0 {
			keep = 1
		}
		r.layers.enclosure.Rest(keep)
		r.drop(r.layers)
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
