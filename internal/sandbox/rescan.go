//go:build linux

package sandbox

import (
	"cmp"
	"slices"
	"time"
)

// rescanPause is the least time between two rescans of a workspace, as far as a rescan
// does not take long.
const rescanPause = 2 * time.Second

// rescanAgain rescans a workspace behind the calls: commands make repositories, people
// make keys. It is asked for whenever a command of any session ends, and what the last
// one did is looked at as soon as the pause is over. Where git has announced a
// repository, there is hardly a pause.
func (c *constraints) rescanAgain() {
	news := c.sandbox.guard.Announced()
	c.mu.Lock()
	defer c.mu.Unlock()
	pause := max(rescanPause, 50*c.cost)
	if news != c.news {
		pause = 4 * c.cost
	}
	pause -= time.Since(c.looked)
	switch {
	case c.current() == nil:
	case c.rescans:
		c.again = true
	case pause <= 0:
		c.rescans = true
		c.sandbox.inBackground(c.rescanNow)
	case !c.waiting:
		c.waiting = true
		time.AfterFunc(pause, c.rescanLater)
	}
}

// rescanLater rescans after a pause, unless all is over by then.
func (c *constraints) rescanLater() {
	c.mu.Lock()
	c.waiting = false
	c.mu.Unlock()
	c.sandbox.behind(c.rescanAgain)
}

// rescanNow is a rescan behind the calls.
func (c *constraints) rescanNow() {
	before := c.current()
	now, err := c.rescan()
	if err != nil {
		c.sandbox.o.Log.Error("cannot bring the sandbox up to date; commands are confined as before", "error", err)
	} else if now != before {
		c.sandbox.renewAtWork(c)
	}
	c.mu.Lock()
	c.rescans = false
	again := c.again
	c.again = false
	c.mu.Unlock()
	if again {
		c.rescanAgain()
	}
}

// mostRenewed is for how many sessions at work walls of a new version are made before
// their next command comes.
const mostRenewed = 4

// renewAtWork makes walls of the new version for the sessions that were at work last,
// so that their next command does not wait for that.
func (s *Sandbox) renewAtWork(c *constraints) {
	type one struct {
		*room
		used time.Time
	}
	var atWork []one
	s.mu.Lock()
	for _, r := range s.rooms {
		r.mu.Lock()
		if r.constraints == c && r.walls != nil && !r.doomed && (r.users > 0 || time.Since(r.used) < 2*rescanPause) {
			r.users++
			atWork = append(atWork, one{r, r.used})
		}
		r.mu.Unlock()
	}
	s.mu.Unlock()
	slices.SortFunc(atWork, func(a, b one) int { return -cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for i, r := range atWork {
		if i < mostRenewed {
			_ = r.refresh() // an error is logged, and comes again with the next command if that must not run
		}
		r.part()
	}
}
