//go:build linux

package sandbox

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tipstaff/internal/profile"
)

// constraintsKey says what commands have in common that are held to the same paths.
type constraintsKey struct {
	profile   profile.Profile
	reveal    string // the credentials whose files are not hidden
	workspace string // its directories, each ended by a NUL
}

// constraints are what the commands of a workspace are held to, whichever session they
// belong to: what the profile says, as of the last rescan. A rescan that finds another
// state of the machine makes a new version; commands that run keep theirs, and every
// session takes the new one with its next command.
type constraints struct {
	sandbox   *Sandbox
	profile   profile.Profile
	workspace []string
	reveal    []string

	// Under Sandbox.mu:
	used    time.Time         // when the last session began
	evicted bool              // a session that begins gets other ones
	ahead   map[*held][]*room // sandboxes for sessions to come
	making  bool              // of some of them

	version atomic.Pointer[version] // nil before the first rescan

	mu      sync.Mutex
	failure error // of the last rescan
	waiting bool  // until the next rescan is due
	rescans bool  // in the background, now
	again   bool  // a command has ended meanwhile
	looked  time.Time
	cost    time.Duration // of the last rescan
	news    uint64        // what the guard had been told of new repositories by the last rescan
	trusted time.Time     // when the version was last found to be true for a new session
	trying  chan struct{} // closed when somebody has found out whether it is; nil: nobody does

	rescanning sync.Mutex // held by the one rescan that there is at a time
}

// version is what one rescan has found, and what follows from it for all sessions. It
// never changes.
type version struct {
	paths   profile.Paths
	allowed profile.Allowlist
	control uint64 // of what was allowed when it was found: see AllowControl

	laying sync.Mutex
	view   *view  // nil: it is to be laid out
	proven bool   // mounts were made by it
	rules  *rules // of all its sandboxes, in namespaces; nil: it is to be made
}

// viewOf gives what commands in namespaces see.
func (s *Sandbox) viewOf(c *constraints, ver *version) (*view, error) {
	ver.laying.Lock()
	defer ver.laying.Unlock()
	var err error
	if ver.view == nil {
		ver.view, err = newView(ver.paths, s.o.Search, append(s.visible(), c.workspace...), s.scratch)
	}
	return ver.view, err
}

// prove keeps in mind that a sandbox was made of the version.
func (ver *version) prove() {
	ver.laying.Lock()
	defer ver.laying.Unlock()
	ver.proven = true
}

// spoil forgets the view, by which something could not be made: it may be there no longer.
// It reports whether something could before.
func (ver *version) spoil() (proven bool) {
	ver.laying.Lock()
	defer ver.laying.Unlock()
	proven = ver.proven
	ver.view, ver.proven = nil, false
	return proven
}

// keptConstraints is how many are kept that no session uses.
const keptConstraints = 64

// constraintsOf finds or makes the constraints of commands. The caller holds s.mu.
func (s *Sandbox) constraintsOf(h *held, workspace []string) *constraints {
	key := constraintsKey{h.profile, strings.Join(h.reveal, " "), strings.Join(workspace, "\x00")}
	c := s.constraints[key]
	if c == nil {
		c = &constraints{sandbox: s, profile: h.profile, workspace: workspace, reveal: h.reveal}
		s.constraints[key] = c
	}
	c.used = time.Now()
	s.evictConstraints()
	return c
}

// evictConstraints drops those that were used longest ago if there are too many. The
// caller holds s.mu.
func (s *Sandbox) evictConstraints() {
	for len(s.constraints) > keptConstraints {
		var oldest constraintsKey
		for key, c := range s.constraints {
			if s.constraints[oldest] == nil || c.used.Before(s.constraints[oldest].used) {
				oldest = key
			}
		}
		c := s.constraints[oldest]
		c.evicted = true
		for _, r := range c.takeAhead() {
			s.inBackground(r.close)
		}
		delete(s.constraints, oldest) // rooms that use them keep them
	}
}

// current gives the version that commands are held to now; nil before the first rescan.
func (c *constraints) current() *version { return c.version.Load() }

// forget lets the next session begin with a rescan.
func (c *constraints) forget() { c.version.Store(nil) }

// freshPause is how long nobody asks again whether secrets have come or moved.
const freshPause = 100 * time.Millisecond

// await waits until a new session may begin with the current version: it has what the
// last rescan found, and no secret has come or moved since. What takes longer than the
// patience of the call (0: none does) goes on behind it.
func (c *constraints) await(patience time.Duration) error {
	c.mu.Lock()
	if c.isTrusted() {
		c.mu.Unlock()
		return nil
	}
	if c.trying == nil {
		trying := make(chan struct{})
		if !c.sandbox.behind(func() { c.try(trying) }) {
			c.mu.Unlock()
			return errClosed
		}
		c.trying = trying
	}
	trying := c.trying
	c.mu.Unlock()
	if !waitFor(trying, patience) {
		return stillLooking(patience)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// isTrusted reports whether there is nothing to find out. The caller holds c.mu.
func (c *constraints) isTrusted() bool {
	v := c.current()
	return v != nil && c.failure == nil && v.control == c.sandbox.controls.Load() && time.Since(c.trusted) < freshPause
}

// try finds out whether a session may begin with the current version, and else makes
// another one.
func (c *constraints) try(over chan struct{}) {
	began := time.Now()
	c.mu.Lock()
	v, failed := c.current(), c.failure != nil
	c.mu.Unlock()
	if v == nil || failed || v.control != c.sandbox.controls.Load() || !v.paths.Fresh() {
		_, _ = c.rescan()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trusted, c.trying = began, nil
	close(over)
}

// waitFor waits until a channel is closed, for as long as a call has time; 0 is as long
// as it takes.
func waitFor(done <-chan struct{}, patience time.Duration) bool {
	if patience <= 0 {
		<-done
		return true
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
		return false
	}
}

// rescan asks the profile, and gives the version that counts from now on: the one that
// there was if it is as true as before.
func (c *constraints) rescan() (*version, error) {
	c.rescanning.Lock()
	defer c.rescanning.Unlock()
	began, news := time.Now(), c.sandbox.guard.Announced()
	found, err := c.find()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked, c.cost, c.news, c.failure = time.Now(), time.Since(began), news, err
	if err != nil {
		return nil, err
	}
	if old := c.current(); old == nil || !old.paths.Equal(found.paths) || old.control != found.control || !old.paths.Fresh() || !old.allowed.Fresh() {
		c.version.Store(found)
		c.sandbox.behind(func() { c.sandbox.dropAhead(c) })
	}
	return c.current(), nil
}

// find asks the profile.
func (c *constraints) find() (*version, error) {
	s := c.sandbox
	v := &version{control: s.controls.Load()}
	var err error
	if v.paths, err = s.consult(c.profile, c.workspace, c.reveal); err != nil {
		return nil, err
	}
	if s.status.Landlock != "" && c.profile != profile.Open {
		if v.allowed, err = v.paths.Allow(s.unseen()...); err != nil {
			return nil, err
		}
	}
	if c.profile == profile.Workspace {
		for _, dir := range v.paths.Workspace {
			if why := whyNotUsable(dir); why != "" {
				s.warnOnce("commands cannot work in a workspace", "why", why)
			}
		}
	}
	return v, nil
}

// unseen are directories of the machine that commands do not see, because private ones
// take their place: what comes and goes in them changes nothing.
func (s *Sandbox) unseen() []string {
	if s.status.tier != Namespaces {
		return nil
	}
	return slices.Clone(privateDirs)
}
