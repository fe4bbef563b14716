//go:build linux

package guard

import (
	"slices"
	"time"

	"tipstaff"
	"tipstaff/internal/paths"
)

// Command is a running command that may write in some directories.
type Command struct {
	guard    *Guard
	writable []string
	pinned   func(path string) bool
	stop     func()

	found []tipstaff.Violation // guarded by Guard.mu
	mild  map[*item]int        // how often it was suspected of a mild change of an item; guarded by Guard.mu
	over  bool                 // the command has ended; guarded by Guard.mu
}

// Begin announces a command that is about to run and may write in the given
// directories. pinned reports what it cannot write there, because a pin lies on it in
// its own sandbox: what one command finds pinned, another one may not, whose sandbox
// is older. Earlier changes are settled first, so that a person's change is
// not blamed on the command. The guard calls stop when the command may have
// made a change that was put back; stop must end the command and must not
// block. The guard calls both functions at any time, pinned also at the same time.
func (g *Guard) Begin(writable []string, pinned func(path string) bool, stop func()) *Command {
	g.settled(writable)
	c := &Command{guard: g, writable: writable, pinned: pinned, stop: stop}
	g.mu.Lock()
	g.active[c] = true
	g.mu.Unlock()
	return c
}

// End must be called when no process of the command is left. It settles what
// the command has changed and returns the changes that were put back while it
// ran. If settling takes too long, the command remains a suspect until it is
// done.
func (c *Command) End() []tipstaff.Violation {
	g := c.guard
	looking := g.settled(c.writable)
	g.mu.Lock()
	defer g.mu.Unlock()
	c.over = true
	if looking == nil || g.closed {
		delete(g.active, c)
		return c.found
	}
	g.work.Go(func() {
		for ; looking != nil; looking = g.lookingIn(c.writable) {
			<-looking
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.active, c)
	})
	return slices.Clone(c.found)
}

// mostPatience bounds how long Begin and End wait for a file system that does
// not answer.
const mostPatience = 2 * time.Second

// settled waits until all changes so far in these directories are judged. If
// that takes longer than mostPatience, it returns the channel of a check that
// is still running.
func (g *Guard) settled(dirs []string) (late chan struct{}) {
	g.watch.drain(g.changed)
	looking := g.lookingIn(dirs)
	if looking == nil {
		return nil
	}
	patience := time.NewTimer(mostPatience)
	defer patience.Stop()
	for ; looking != nil; looking = g.lookingIn(dirs) {
		select {
		case <-looking:
		case <-patience.C:
			g.o.Log.Error("protected files could not be checked in time", "directories", dirs)
			return looking
		}
	}
	return nil
}

func (g *Guard) lookingIn(dirs []string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	for path, it := range g.items {
		if !it.waits && it.looking == nil || !paths.Within(path, dirs...) {
			continue
		}
		if g.waited(it); it.looking != nil {
			return it.looking
		}
	}
	return nil
}

// suspects returns the running commands that may write at path.
func (g *Guard) suspects(path string) (list []*Command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.active {
		if paths.Within(path, c.writable...) {
			list = append(list, c)
		}
	}
	return list
}

// stop ends the commands that may have made an unsafe change, and reports
// whether there were any. If the change is mild or may be a person's own, it
// ends only those suspected of it repeatedly.
func (g *Guard) stop(it *item, suspects []*Command, ends bool) bool {
	ending := suspects
	if it.Mild || !ends {
		ending = g.again(it, suspects)
	}
	ending = g.alive(ending)
	for _, c := range ending {
		c.stop()
	}
	return len(ending) > 0
}

// tell logs a violation and records it for the answers of these commands.
func (g *Guard) tell(suspects []*Command, v tipstaff.Violation) {
	g.mu.Lock()
	for _, c := range suspects {
		c.tell(v)
	}
	g.mu.Unlock()
	g.o.Log.Warn("a change of a protected file was put back", "file", v.Path, "why", v.Why, "aside", v.Aside, "fault", v.Fault, "commands", len(suspects), "ended", v.Ended)
}

func (g *Guard) alive(list []*Command) []*Command {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(list), func(c *Command) bool { return c.over })
}

// mostTold bounds the violations in the answer of one command.
const mostTold = 8

// tell records a violation for the answer, merged with an earlier one of the
// same path. The caller holds Guard.mu.
func (c *Command) tell(v tipstaff.Violation) {
	i := slices.IndexFunc(c.found, func(w tipstaff.Violation) bool { return w.Path == v.Path })
	switch {
	case i >= 0:
		known := &c.found[i]
		known.Ended, known.Fault = known.Ended || v.Ended, v.Fault // of the last attempt
		if known.Aside == "" {
			known.Aside = v.Aside
		}
	case len(c.found) < mostTold:
		c.found = append(c.found, v)
	}
}

// mildTimes is how often a command may be suspected of a mild change. A program
// that writes a file anew changes it in a few steps. A person who saves a
// pinned file that names a program does so once or twice, not each time that a
// command has waited for it.
const mildTimes = 4

// again counts a mild change and returns the commands suspected of it more than
// mildTimes.
func (g *Guard) again(it *item, suspects []*Command) (list []*Command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range suspects {
		if c.mild == nil {
			c.mild = map[*item]int{}
		}
		if c.mild[it]++; c.mild[it] > mildTimes {
			list = append(list, c)
		}
	}
	return list
}
