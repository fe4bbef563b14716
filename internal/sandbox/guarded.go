//go:build linux

package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/guard"
	"tipstaff/internal/profile"
)

// protect hands what steers programs outside to the guard, and gives the paths as
// commands are to have them: what came while the server ran is watched, not pinned.
func (s *Sandbox) protect(p profile.Paths, came []string) profile.Paths {
	if p.Profile != profile.Workspace {
		return p
	}
	pinned := p
	if len(came) > 0 {
		pinned = p.Without(came)
	}
	roots := p.Writable()
	items := map[string][]guard.Item{}
	add := func(one guard.Item) {
		i := slices.IndexFunc(roots, func(root string) bool { return within(one.Path, root) })
		if i >= 0 {
			items[roots[i]] = append(items[roots[i]], one)
		}
	}
	for _, pin := range p.Pinned {
		if pin.InPlace {
			continue
		}
		one := guard.Item{Path: pin.Path, Why: pin.Why, GitDir: pin.GitDir, Mild: pin.Copy}
		switch {
		case pin.GitDir != "":
			one.Kind = guard.Config
		case !pin.Dir && filepath.Base(pin.Path) == ".git":
			one.Kind = guard.Pointer
		}
		one.Pinned = s.status.tier == Namespaces && slices.ContainsFunc(pinned.Pinned, func(q profile.Pin) bool { return q.Path == pin.Path })
		if one.Pinned {
			one.Stage = p.Stage(pin)
		}
		one.New = slices.ContainsFunc(came, func(dir string) bool { return within(pin.Path, dir) && pin.Path != dir })
		add(one)
	}
	for _, dir := range p.GitDirs {
		is := slices.Contains(came, dir)
		add(guard.Item{Path: dir, Kind: guard.Entry, Why: guard.WhyEntry})
		add(guard.Item{Path: filepath.Join(dir, "commondir"), Kind: guard.Absent, Why: guard.WhyCommonDir, New: is})
		tree := profile.Pin{Place: profile.Place{Path: filepath.Join(dir, "config.worktree"), Why: guard.WhyConfig}, GitDir: dir}
		if !slices.ContainsFunc(p.Pinned, func(q profile.Pin) bool { return q.Path == tree.Path }) {
			one := guard.Item{Path: tree.Path, Kind: guard.Config, Why: tree.Why, GitDir: dir, New: is}
			if !is && s.status.tier == Namespaces {
				one.Stage = p.Stage(tree)
			}
			add(one)
		}
	}
	for _, w := range p.Watched {
		add(guard.Item{Path: w.Path, Why: w.Why, Mild: true})
	}
	for _, root := range roots {
		s.guard.Protect(root, items[root])
	}
	return pinned
}

// noteUnsafe keeps why the guard refused a change, for the answer.
func (r *room) noteUnsafe(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unsafe) < maxRefused && !slices.Contains(r.unsafe, why) {
		r.unsafe = append(r.unsafe, why)
	}
}

// violations tells the guard that the command is over, and gives what it put back.
func (c *Confined) violations() []guard.Violation {
	if c.guarded == nil {
		return nil
	}
	defer func() { c.guarded = nil }()
	return c.guarded.End()
}

// explainGuard tells of files that steer others: of changes that were refused, and
// those that were put back.
func (c *Confined) explainGuard(r *tipstaff.Result) {
	c.room.mu.Lock()
	unsafe := c.room.unsafe
	c.room.unsafe = nil
	c.room.mu.Unlock()
	for _, why := range unsafe {
		r.Refusals = append(r.Refusals, "The sandbox refused a change: "+why+".")
	}
	c.explainCopies(r)
	for _, v := range c.violations() {
		if v.Ended && r.Cause == tipstaff.Cancelled {
			r.Cause = tipstaff.Violation
		}
		v.Why = strings.TrimSuffix(v.Why, ".") + "; if it is wanted, a person makes it, outside of tipstaff"
		r.Refusals = append(r.Refusals, v.String())
	}
}

// explainCopies tells of hooks that git tracks, which a command has checked out in a
// copy of its own.
func (c *Confined) explainCopies(r *tipstaff.Result) {
	for path, copied := range c.walls.copies {
		names := guard.Differs(path, copied)
		if len(names) == 0 {
			continue
		}
		told := path + "\x00" + strings.Join(names, "\x00")
		c.room.mu.Lock()
		known := c.room.told[told]
		if c.room.told == nil {
			c.room.told = map[string]bool{}
		}
		c.room.told[told] = true
		c.room.mu.Unlock()
		if !known {
			r.Refusals = append(r.Refusals, fmt.Sprintf("%s stays as it is outside, because git runs what is in it; commands of this session see their own copy, in which %s differ. A person takes over what is checked out there: git checkout -- %s",
				path, strings.Join(names, ", "), path))
		}
	}
}
