//go:build linux

package guard

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff"
	"tipstaff/internal/paths"
)

// settle looks at an item and takes over what has changed, or puts it back. What is
// unsafe at the first sight is put back before anything else is done.
func (g *Guard) settle(it *item) {
	it.mu.Lock()
	defer it.mu.Unlock()
	now := it.read()
	w := g.weigh(it, now)
	if w.why == "" {
		now = g.see(it)
		w = g.weigh(it, now)
	}
	switch {
	case w.why != "":
		ends := !w.detached // or it is a person's change, or was made in the moment after one
		g.refuse(it, now, w.why, w.suspects, ends)
	case w.unchanged:
		it.accepted.id = now.id
	case len(w.suspects) > 0 && it.steersLess(now): // what comes back is judged by what was there
	default:
		g.accept(it, now, w.detached)
	}
}

// weighed is what a look at an item has found out.
type weighed struct {
	unchanged bool
	detached  bool       // the pin has come off
	suspects  []*Command // that could have changed it
	why       string     // it may not stay; "": it may
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
	if it.Pinned && !w.detached && it.linked != now.id {
		w.suspects = nil // no command can write it: it was a person, in place
	}
	if len(w.suspects) > 0 {
		w.why = g.judge(it, now)
	}
	return w
}

// steersLess reports whether a content that may stay is only what is left of the
// accepted one: a directory without some of its names, a file that is being written.
func (it *item) steersLess(now content) bool {
	return it.Kind == Fixed && !it.New && (now.form == directory || now.emptied(it.accepted)) ||
		(it.Kind == Pointer || it.Kind == WorkTree) && now.form == file && now.sign.size == 0
}

// noteLinks remembers a file that can be written by another name, or once could: no
// pin lies on that.
func (it *item) noteLinks(now content) {
	if now.linked() {
		it.linked = now.id
	}
}

// see looks at an item, when it is watched as it is: a directory that has just been
// made is watched before it is looked into.
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

// accept takes over what is there. Where a person has replaced a pinned file, a copy
// takes its place that is pinned and that no command has a descriptor of.
func (g *Guard) accept(it *item, now content, detached bool) {
	if now.form == unseen || now.form == nothing && it.Kind != Absent {
		return // what comes next in this place is judged by what was there
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
		if !errors.Is(err, errNewer) { // or the next look sees to it
			g.o.Log.Warn("a file that a person has replaced could not be pinned at once", "file", it.Path, "error", err)
		}
	}
	it.accepted.id = identity{} // there is no pin on what is there: it may be a command's next time
	g.cameOff(nil)
}

func always() bool { return true }

// echoPause is how long after a file was replaced here the same text in another file is
// taken for the answer of another server that protects the same repository. Were it
// replaced again, the two would never stop.
const echoPause = 2 * time.Second

// admit accepts a new item as far as it names no program, and puts the rest aside. It
// ends no command: git itself brings hooks along, from a person's own template. The
// caller holds it.mu.
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

// refuse makes an item what was accepted, tells the commands that could have changed it,
// and ends them (see stop). What was there is kept. The order is that of haste: first
// the file, then its writer, then the rest.
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
		brought := it.accepted.id == after.id // and pinned
		it.accepted = after
		if it.Pinned && !brought {
			it.accepted.id = identity{} // as in accept
		}
	case err == nil: // it was changed again, maybe when it was not watched whole
		g.changed(it)
	}
	g.tell(suspects, v)
	g.blanks.refill(it.root)
	return v
}

// putBack makes an item what was accepted.
func (g *Guard) putBack(it *item, now content, p *put) error {
	accepted := it.accepted
	if it.Kind == Entry {
		accepted = content{} // the directory is gone; what has taken its place goes too
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

// mostItems is how many items there may be for a repository to be taken up before a look
// has found it: a command can make repositories as fast as git can.
const mostItems = 50_000

// announce takes up a repository in which a command is about to change the
// configuration, and which no look has found yet. root is where the command may
// write.
func (g *Guard) announce(dir string) {
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
				for _, one := range Repository(dir, true) {
					g.protect(root, one)
				}
				return
			}
		}
	}
}
