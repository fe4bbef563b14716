//go:build linux

package sandbox

import "time"

// Sandboxes are made before a session needs them: only the key under which one is
// kept belongs to a principal. The start's probe is the first of them, and one that
// a session has left as it was made (see untouched.go) is another. A session gets
// one only if it was made of the version that counts at that moment.

const (
	// fewAhead is how many are made when a session has taken the last one, for
	// constraints under which a session has begun lately.
	fewAhead = 2
	// mostAhead is how many are kept that sessions have left: as many as fast
	// clients may need at once.
	mostAhead = 16
	// mostAheadInAll is how many are kept for all workspaces.
	mostAheadInAll = 32
	// mostEnding is how many end in the background at a time. Beyond that, the call
	// that ends a session ends its sandbox itself: the kernel takes up to 6 ms for
	// each.
	mostEnding = 8
)

// anyone reports whether a sandbox may be made for a session that is not known yet.
// One that lends something or has a proxy is made for its session.
func (set *settings) anyone() bool { return set.proxy == nil && !set.doors && len(set.reveal) == 0 }

// claim returns a sandbox that was made ahead for the first command of a session, or
// nil if there is none. The caller holds s.mu.
func (s *Sandbox) claim(c *constraints, set *settings) *sessionSandbox {
	for {
		list := c.ahead[set]
		if len(list) == 0 {
			return nil
		}
		sess := list[len(list)-1]
		c.ahead[set] = list[:len(list)-1]
		if now, _ := sess.outdated(); !now {
			return sess
		}
		s.inBackground(sess.close)
	}
}

// keepAhead keeps a sandbox for a session to come, and reports whether it may.
func (s *Sandbox) keepAhead(sess *sessionSandbox) bool {
	c := sess.constraints
	s.mu.Lock()
	defer s.mu.Unlock()
	if outdated, _ := sess.outdated(); s.closed || c.evicted || outdated || len(c.ahead[sess.settings]) >= mostAhead || s.aheadInAll() >= mostAheadInAll {
		return false
	}
	if c.ahead == nil {
		c.ahead = map[*settings][]*sessionSandbox{}
	}
	c.ahead[sess.settings] = append(c.ahead[sess.settings], sess)
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

// takeAhead takes away all that were made ahead under these constraints. The caller
// holds s.mu and closes them.
func (c *constraints) takeAhead() (list []*sessionSandbox) {
	for _, sessions := range c.ahead {
		list = append(list, sessions...)
	}
	c.ahead = nil
	return list
}

// dropAhead ends all that were made ahead, because their version is replaced.
func (s *Sandbox) dropAhead(c *constraints) {
	s.mu.Lock()
	list := c.takeAhead()
	s.mu.Unlock()
	for _, sess := range list {
		sess.close()
	}
}

// makeAhead makes sandboxes for the next sessions, in the background, if there are
// none and a session has begun lately.
func (s *Sandbox) makeAhead(c *constraints, set *settings) {
	s.mu.Lock()
	idle := s.closed || c.making || !set.anyone() || len(c.ahead[set]) > 0 || time.Since(c.used) > restAfter
	c.making = c.making || !idle
	s.mu.Unlock()
	if idle {
		return
	}
	for range fewAhead {
		if !s.makeOne(c, set) {
			break // the session that needs one gets the error
		}
	}
	s.mu.Lock()
	c.making = false
	s.mu.Unlock()
}

func (s *Sandbox) makeOne(c *constraints, set *settings) bool {
	s.mu.Lock()
	sess := s.newSession(c, set)
	s.mu.Unlock()
	sess.making.Do(func() {
		sess.err = sess.make()
		close(sess.made)
	})
	if sess.err == nil && s.keepAhead(sess) {
		return true
	}
	sess.close()
	return false
}

// retire ends the sandbox of a session that has ended, or keeps it for another
// session. It returns before that is done, unless too many end already.
func (s *Sandbox) retire(sess *sessionSandbox) {
	select {
	case s.ending <- struct{}{}:
	default:
		sess.close()
		return
	}
	end := func() {
		defer func() { <-s.ending }()
		s.giveOn(sess)
	}
	if !s.behind(end) {
		<-s.ending
		sess.close()
	}
}

// giveOn keeps a sandbox for another session if it is as it was made, and ends it
// otherwise.
func (s *Sandbox) giveOn(sess *sessionSandbox) {
	sess.mu.Lock()
	l := sess.layers
	sess.mu.Unlock()
	sess.dismiss(l)
	if !sess.untouched() {
		sess.close()
		return
	}
	sess.mu.Lock()
	sess.key, sess.doomed, sess.began = sessionKey{}, false, time.Time{}
	sess.told, sess.unsafe = nil, nil
	sess.mu.Unlock()
	if !s.keepAhead(sess) {
		sess.close()
	}
}
