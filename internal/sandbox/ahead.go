//go:build linux

package sandbox

import "time"

// Sandboxes are made before a session is there: nothing in one belongs to a principal but
// the key under which it is kept. The start's probe is the first of them, and one that a
// session has left as it was (see untouched.go) is another. None of them is given to a
// session unless it was made of the version that counts at that moment.

const (
	// fewAhead is how many are made, for constraints under which a session has begun
	// lately, when a session has taken the last one.
	fewAhead = 2
	// mostAhead is how many are kept that sessions have left: as many as clients that
	// are quick may need at once.
	mostAhead = 16
	// mostAheadInAll is how many are kept for all workspaces.
	mostAheadInAll = 32
	// mostEnding is how many end behind the calls at a time. Beyond that it is done by
	// the call that ends a session: the kernel takes up to 6 ms for each.
	mostEnding = 8
)

// anyone reports whether a sandbox may be made for a session that is not known yet. What
// lends something or has a proxy is made for one.
func (h *held) anyone() bool { return h.proxy == nil && !h.doors && len(h.reveal) == 0 }

// claim gives a sandbox that was made ahead for the first command of a session; nil if
// there is none. The caller holds s.mu.
func (s *Sandbox) claim(c *constraints, h *held) *room {
	for {
		list := c.ahead[h]
		if len(list) == 0 {
			return nil
		}
		r := list[len(list)-1]
		c.ahead[h] = list[:len(list)-1]
		if now, _ := r.outdated(); !now {
			return r
		}
		s.inBackground(r.close)
	}
}

// keepAhead keeps a sandbox for a session to come, and reports whether it may.
func (s *Sandbox) keepAhead(r *room) bool {
	c := r.constraints
	s.mu.Lock()
	defer s.mu.Unlock()
	if outdated, _ := r.outdated(); s.closed || c.evicted || outdated || len(c.ahead[r.held]) >= mostAhead || s.aheadInAll() >= mostAheadInAll {
		return false
	}
	if c.ahead == nil {
		c.ahead = map[*held][]*room{}
	}
	c.ahead[r.held] = append(c.ahead[r.held], r)
	return true
}

// aheadInAll counts those of all workspaces. The caller holds s.mu.
func (s *Sandbox) aheadInAll() (n int) {
	for _, c := range s.constraints {
		for _, list := range c.ahead {
			n += len(list)
		}
	}
	return n
}

// takeAhead takes away all that were made ahead under these constraints. The caller holds
// s.mu, and closes them.
func (c *constraints) takeAhead() (list []*room) {
	for _, rooms := range c.ahead {
		list = append(list, rooms...)
	}
	c.ahead = nil
	return list
}

// dropAhead ends all that were made ahead of a version that counts no longer.
func (s *Sandbox) dropAhead(c *constraints) {
	s.mu.Lock()
	list := c.takeAhead()
	s.mu.Unlock()
	for _, r := range list {
		r.close()
	}
}

// makeAhead makes sandboxes for the next sessions, behind the calls, if there are none
// and a session has begun lately.
func (s *Sandbox) makeAhead(c *constraints, h *held) {
	s.mu.Lock()
	idle := s.closed || c.making || !h.anyone() || len(c.ahead[h]) > 0 || time.Since(c.used) > restAfter
	c.making = c.making || !idle
	s.mu.Unlock()
	if idle {
		return
	}
	for range fewAhead {
		if !s.makeOne(c, h) {
			break // the error comes again to the session that needs one
		}
	}
	s.mu.Lock()
	c.making = false
	s.mu.Unlock()
}

func (s *Sandbox) makeOne(c *constraints, h *held) bool {
	s.mu.Lock()
	r := s.newRoom(c, h)
	s.mu.Unlock()
	r.making.Do(func() {
		r.err = r.make()
		close(r.made)
	})
	if r.err == nil && s.keepAhead(r) {
		return true
	}
	r.close()
	return false
}

// retire ends a room that no session has any more, or keeps it for another one. It does
// not wait for that, unless too many end already.
func (s *Sandbox) retire(r *room) {
	select {
	case s.ending <- struct{}{}:
	default:
		r.close()
		return
	}
	end := func() {
		defer func() { <-s.ending }()
		s.giveOn(r)
	}
	if !s.behind(end) {
		<-s.ending
		r.close()
	}
}

// giveOn keeps a room for another session if it is as it was made, and else ends it.
func (s *Sandbox) giveOn(r *room) {
	if !r.untouched() {
		r.close()
		return
	}
	r.mu.Lock()
	r.key, r.doomed, r.began = roomKey{}, false, time.Time{}
	r.told, r.unsafe = nil, nil
	r.mu.Unlock()
	if !s.keepAhead(r) {
		r.close()
	}
}
