//go:build linux

package sandbox

import "time"

// restAfter is how long after the last call sandboxes and processes that wait for
// others end.
const restAfter = time.Minute

// begin notes that a call has begun; the function that it returns notes that the
// call has ended.
func (s *Sandbox) begin() (over func()) {
	s.calls.Add(1)
	return func() {
		s.lastCall.Store(time.Now().UnixNano())
		s.calls.Add(-1)
		s.restIn(restAfter)
	}
}

// restIn schedules a call of rest, unless one is scheduled already.
func (s *Sandbox) restIn(after time.Duration) {
	if !s.restDue.Swap(true) {
		time.AfterFunc(after, func() {
			s.restDue.Store(false)
			s.behind(func() { s.rest(time.Now().Add(-restAfter)) })
		})
	}
}

// rest ends what has not been used since a time: sandboxes that were made ahead, and
// the processes that wait for commands in the sandboxes of sessions. If no call came
// since, one process stays, that of the last command.
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
			if n := len(resting) - 1; sess.used.After(latest) { // the latest comes first
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
		r.dismiss(r.layers)
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
