//go:build linux

package guard

import (
	"errors"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff"
	"tipstaff/internal/paths"
)

// settle checks an item, and accepts what has changed or puts it back. A change
// that is unsafe at the first reading is put back before anything else is done.
func (g *Guard) settle(it *item) {
	it.mu.Lock()
	defer it.mu.Unlock()
	now := g.readOpen(it)
	w := g.weigh(it, now)
	if w.why == "" {
		now = g.see(it)
		w = g.weigh(it, now)
	}
	switch {
	case w.why != "":
		ends := !w.detached // otherwise it is a person's change, or was made just after one
		g.refuse(it, now, w.why, w.suspects, ends)
	case w.unchanged:
		it.accepted.id = now.id
	case len(w.suspects) > 0 && it.steersLess(now): // keep the accepted content, which judges the next change
	default:
		g.accept(it, now, w.detached)
	}
}

// weighed is what a check of an item has found.
type weighed struct {
	unchanged bool
	detached  bool       // the pin no longer lies on the file
	suspects  []*Command // the commands that could have changed it
	why       string     // why the change must be put back; "" if it may stay
}

func (g *Guard) weigh(it *item, now content) (w weighed) {
	it.noteLinks(now)
	w.detached = it.Pinned && now.id != it.accepted.id
	if now.same(it.accepted) && !w.detached {
		w.unchanged = true
		return w
	}
	w.suspects = g.suspects(it.Path)
	if len(w.suspects) == 0 {
		it.kept = 0
	}
	if it.Pinned && !w.detached && it.linked != now.id { // no command in whose sandbox it is pinned wrote the file in place
		w.suspects = slices.DeleteFunc(w.suspects, func(c *Command) bool { return c.pinned(it.Path) })
	}
	if len(w.suspects) > 0 {
		w.why = g.judge(it, now)
	}
	return w
}

// steersLess reports whether a safe content is only a remainder of the accepted
// one: a directory with names missing, or a file that is being rewritten.
func (it *item) steersLess(now content) bool {
	return it.Kind == Fixed && !it.New && (now.form == directory || now.emptied(it.accepted)) ||
		(it.Kind == Pointer || it.Kind == WorkTree) && now.form == file && now.sign.size == 0
}

// noteLinks records a file that has, or had, a second name by which it can be
// written: a pin protects one name only.
func (it *item) noteLinks(now content) {
	if now.linked() {
		it.linked = now.id
	}
}

// see reads an item after watching it in its present state. It repeats both
// until nothing is new, so that a directory that has just been made is watched
// before it is read.
func (g *Guard) see(it *item) (now content) {
	var before []int32
	for i := range mostDepth * 4 {
		watches := g.marked(it, now)
		now = it.read()
		if i > 0 && slices.Equal(watches, before) {
			break
		}
		before = watches
	}
	g.leases.keep(it, now)
	return now
}

// accept makes the present content the accepted one. If a person has replaced a
// pinned file, a pinned copy replaces it, of which no command has a descriptor.
func (g *Guard) accept(it *item, now content, detached bool) {
	if now.form == unseen || now.form == nothing && it.Kind != Absent {
		return // the accepted content judges the next change
	}
	echo := now.same(it.accepted) && time.Since(it.replaced) < echoPause
	it.accepted = now
	if !detached {
		return
	}
	if it.Stage != "" && !echo && now.form == file && now.whole() {
		err := g.replace(it, now, now, always)
		if err == nil {
			return
		}
		if !errors.Is(err, errNewer) { // errNewer: the next check handles it
			g.o.Log.Warn("a file that a person has replaced could not be pinned at once", "file", it.Path, "error", err)
		}
	}
	it.accepted.id = identity{} // the file has no pin: the next change may be a command's
	g.cameOff(nil)
}

func always() bool { return true }

// echoPause is how long after a file was replaced here the same text in a new
// file counts as the reaction of another server that protects the same
// repository. Replacing it again would make the two servers go on without end.
const echoPause = 2 * time.Second

// admit accepts the part of a new item that names no program, and puts the rest
// aside. It ends no command, because git itself copies hooks from a person's
// template. The caller holds it.mu.
func (g *Guard) admit(it *item, now content) []tipstaff.Violation {
	why := g.judge(it, now)
	if why == "" {
		it.accepted = now
		it.New = it.New && (it.Kind == Config || it.byName())
		return nil
	}
	it.accepted = g.harmless(it, now)
	return []tipstaff.Violation{g.refuse(it, now, why, g.suspects(it.Path), false)}
}

// refuse restores the accepted content, ends the commands that could have
// changed it (see stop), and tells them. What was there is kept aside. The
// order is by urgency: the file, the writer, the rest.
func (g *Guard) refuse(it *item, now content, why string, suspects []*Command, ends bool) tipstaff.Violation {
	v := tipstaff.Violation{Path: it.Path, Why: why}
	p := &put{blank: g.blanks.take(it.root)}
	err := errors.Join(g.putBack(it, now, p), closed(p.takeBlank()))
	v.Ended = g.stop(it, suspects, ends)
	var failure error
	v.Aside, failure = g.keep(it, p)
	if err := errors.Join(err, failure); err != nil {
		v.Fault = err.Error()
	}
	after := g.see(it)
	switch {
	case after.same(it.accepted):
		brought := it.accepted.id == after.id // bring has placed and pinned it
		it.accepted = after
		if it.Pinned && !brought {
			it.accepted.id = identity{} // as in accept
		}
	case err == nil: // it was changed again, maybe before all of it was watched
		g.changed(it)
	}
	g.tell(suspects, v)
	g.blanks.refill(it.root)
	return v
}

// putBack restores the accepted content of an item.
func (g *Guard) putBack(it *item, now content, p *put) error {
	accepted := it.accepted
	if it.Kind == Entry {
		accepted = content{} // the directory is gone; remove its replacement as well
	}
	if it.Stage != "" && it.Pinned && accepted.form == file {
		return g.oust(it, p)
	}
	dir, name, err := openParent(it.Path)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	err = restore(p, dir, name, accepted, now)
	if err == nil && it.Pinned {
		g.cameOff(nil)
	}
	return err
}

// mostItems bounds the items up to which announce registers repositories.
// Beyond it they wait for a rescan, because a command can make repositories as
// fast as git can.
const mostItems = 50_000

// announce registers a repository that no rescan has found yet, when a command
// is about to change a configuration of this name, or a linked work tree's own. Its
// directory is no repository: commondir belongs there.
func (g *Guard) announce(dir, name string) {
	g.mu.Lock()
	many := len(g.items) >= mostItems
	g.mu.Unlock()
	if many {
		g.announced.Add(1)
		return
	}
	for _, c := range g.suspects(dir) {
		for _, root := range c.writable {
			if paths.Within(dir, root) {
				g.announced.Add(1)
				list := Repository(dir, true)
				if name == "config.worktree" && filepath.Base(filepath.Dir(dir)) == "worktrees" {
					list = slices.DeleteFunc(list, func(one Item) bool { return filepath.Base(one.Path) != name })
				}
				for _, one := range list {
					g.protect(root, one)
				}
				return
			}
		}
	}
}
