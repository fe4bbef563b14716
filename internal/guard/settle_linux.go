//go:build linux

package guard

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff"
	"tipstaff/internal/gitconfig"
)

// settle looks at an item and takes over what has changed, or puts it back.
func (g *Guard) settle(it *item) {
	it.mu.Lock()
	defer it.mu.Unlock()
	now := g.see(it)
	it.noteLinks(now)
	detached := it.Pinned && now.id != it.accepted.id
	if now.same(it.accepted) && !detached {
		it.accepted.id = now.id
		return
	}
	suspects := g.suspects(it.Path)
	if len(suspects) == 0 {
		it.kept = 0
	}
	if it.Pinned && !detached && it.linked != now.id {
		suspects = nil // no command can write it: it was a person, in place
	}
	why := ""
	if len(suspects) > 0 {
		why = g.judge(it, now)
	}
	if why == "" {
		if len(suspects) > 0 && it.steersLess(now) {
			return // what comes back is judged by what was there
		}
		g.accept(it, now, detached)
		return
	}
	ends := !detached // or it is a person's change, or was made in the moment after one
	g.report(it, g.putBack(it, now, why), suspects, ends)
}

// steersLess reports whether a content that may stay is only what is left of the
// accepted one: a directory without some of its names, a file that is being written.
func (it *item) steersLess(now content) bool {
	return it.Kind == Fixed && !it.New && (now.form == directory || now.emptied(it.accepted)) ||
		it.Kind == Pointer && now.form == file && now.sign.size == 0
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
	return []tipstaff.Violation{g.report(it, g.putBack(it, now, why), g.suspects(it.Path), false)}
}

// judge says why a content may not take the place of the accepted one; "" if it may.
// Whatever is only removed steers nothing any more; what comes in its place is judged.
func (g *Guard) judge(it *item, now content) string {
	switch {
	case now.form == nothing, now.same(it.accepted):
		return ""
	case now.form == unseen:
		return fmt.Sprintf("it is %s now", now)
	case it.Kind == Config:
		return g.judgeConfig(it, now)
	case it.Kind == Pointer, it.Kind == Entry && now.form == file:
		return g.judgePointer(it, now)
	case it.Kind == Entry && now.form == directory:
		return ""
	case it.Kind == Fixed && !it.New && len(now.beyond(it.accepted)) == 0:
		return ""
	case it.Kind == Fixed && it.New && !it.byName():
		return "" // the look that has found it has judged it
	case it.Kind == Fixed && it.New && len(it.unknown(now)) == 0:
		return ""
	}
	return it.Why
}

func (g *Guard) judgeConfig(it *item, now content) string {
	switch {
	case now.form != file:
		return fmt.Sprintf("it is %s now, and was a configuration of git", now)
	case !now.whole():
		return fmt.Sprintf("it is larger than %d bytes", mostFile)
	}
	if err := g.repository(it).Judge(it.accepted.text, now.text); err != nil {
		return err.Error()
	}
	return ""
}

func (g *Guard) repository(it *item) gitconfig.Repository {
	r := gitconfig.Repository{Dir: it.GitDir}
	if hooks := g.hooksPaths.Load(); hooks != nil {
		r.Hooks = *hooks
	}
	return r
}

// judgePointer judges a file .git by where it leads. git writes it in one go, but
// makes it first.
func (g *Guard) judgePointer(it *item, now content) string {
	if now.form != file || !now.whole() {
		return fmt.Sprintf("it is %s now, and was a file that names a repository", now)
	}
	if it.New || len(now.text) == 0 {
		return ""
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(now.text), "\r\n"), "gitdir: ")
	if ok && !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(it.Path), to)
	}
	if ok && (g.find(filepath.Join(to, "config")) != nil || g.find(filepath.Join(to, "commondir")) != nil) {
		return ""
	}
	return fmt.Sprintf("it leads to %q, which is no repository that was there before", to)
}

// emptied reports whether of a file nothing is left but its name. A program that
// writes a file anew does that first, and an empty file steers nothing.
func (c content) emptied(accepted content) bool {
	return c.form == file && c.whole() && len(c.text) == 0 && accepted.form == file && c.mode&^accepted.mode&0o111 == 0
}

// beyond gives the names in a directory whose content is not the accepted one, and of
// which more is left than the name; of anything else itself, by the name "".
func (c content) beyond(accepted content) (list []string) {
	if c.form != directory || accepted.form != directory || c.names == nil || accepted.names == nil {
		if c.form == nothing || c.emptied(accepted) || c.same(accepted) {
			return nil
		}
		return []string{""}
	}
	for name, in := range c.names {
		if len(in.beyond(accepted.names[name])) > 0 {
			list = append(list, name)
		}
	}
	return list
}

// byName reports whether git obeys every file of a directory by its name.
func (it *item) byName() bool {
	base := filepath.Base(it.Path)
	return it.Kind == Fixed && (base == "hooks" || base == "branches")
}

// unknown are the names in such a directory, if it is new, that git has not brought
// itself.
func (it *item) unknown(now content) (list []string) {
	if now.form != directory || now.names == nil {
		return []string{""}
	}
	for name, one := range now.names {
		if !it.accepted.names[name].same(one) && (one.form != file || !strings.HasSuffix(name, ".sample")) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// harmless is what can be accepted of a new item.
func (g *Guard) harmless(it *item, now content) content {
	switch {
	case it.Kind == Config && now.form == file && now.whole():
		c := now
		c.text = g.repository(it).Harmless(now.text)
		return c
	case it.Kind == Fixed && now.form == directory && now.names != nil:
		c := now
		c.names = maps.Clone(now.names)
		for _, name := range it.unknown(now) {
			delete(c.names, name)
		}
		return c
	}
	return content{}
}

// putBack makes an item what was accepted. What was there is kept.
func (g *Guard) putBack(it *item, now content, why string) tipstaff.Violation {
	v := tipstaff.Violation{Path: it.Path, Why: why}
	accepted := it.accepted
	if it.Kind == Entry {
		accepted = content{} // the directory is gone; what has taken its place goes too
	}
	dir, name, err := openParent(it.Path)
	if err != nil {
		v.Fault = err.Error()
		return v
	}
	defer func() { _ = unix.Close(dir) }()
	if it.Stage != "" && it.Pinned && accepted.form == file {
		v.Aside, err = g.oust(it)
	} else {
		v.Aside, err = g.restore(it, dir, name, accepted, now)
		if err == nil && it.Pinned {
			g.cameOff(nil)
		}
	}
	if err != nil {
		v.Fault = err.Error()
	}
	after := g.see(it)
	if after.same(it.accepted) {
		brought := it.accepted.id == after.id // and pinned
		it.accepted = after
		if it.Pinned && !brought {
			it.accepted.id = identity{} // as in accept
		}
	}
	return v
}

// announce takes up a repository in which a command is about to change the
// configuration, and which no look has found yet. root is where the command may
// write.
func (g *Guard) announce(dir string) {
	for _, c := range g.suspects(dir) {
		for _, root := range c.writable {
			if under(dir, []string{root}) {
				g.announced.Add(1)
				for _, one := range Repository(dir, true) {
					g.protect(root, one)
				}
				return
			}
		}
	}
}
