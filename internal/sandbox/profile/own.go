package profile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// hideOwn hides tipstaff's own secrets. A command cannot prevent that by changing
// directories above one: a path that cannot be inspected is hidden too.
func (r *resolver) hideOwn() {
	for _, o := range r.m.OwnFiles {
		if o.Name != "" {
			r.watched.path(o.Name)
		}
		if o.Readable || !mayExist(o.Path) {
			r.watched.path(o.Path)
			continue
		}
		if what := r.tooWide(o.Path); what != "" {
			r.note("%s is not hidden: it is or holds %s", o.Path, what)
			continue
		}
		r.Hidden = append(r.Hidden, o.Entry)
	}
}

// limitOwn treats the rest like files that run outside of any sandbox: they are
// pinned, and never become writable because a workspace, a cache or a repository is
// at or below them.
func (r *resolver) limitOwn() {
	for _, o := range r.m.OwnFiles {
		if !o.Readable || !mayExist(o.Path) {
			continue
		}
		for _, path := range append([]string{o.Path}, r.otherNames(o.Path)...) {
			r.limits.startup = append(r.limits.startup, Entry{path, o.Dir, o.Why})
			if o.ReadOnly {
				r.readOnly = append(r.readOnly, path)
			}
		}
	}
	r.readOnly = sorted(r.readOnly)
}

// mayExist reports whether a file exists at path, or may exist.
func mayExist(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// PinOwn adds to the paths of [Open], which leave everything to commands, what
// mounts protect from them: tipstaff's own files, with the directories above them in
// place.
func (p *Paths) PinOwn(list []OwnFile) {
	held := map[string]bool{}
	for _, o := range list {
		switch {
		case !mayExist(o.Path):
			continue
		case !o.Readable:
			p.Hidden = append(p.Hidden, o.Entry)
		default:
			p.Pinned = append(p.Pinned, Pin{Entry: o.Entry})
			held[o.Path] = true
		}
	}
	for _, o := range list {
		for dir := filepath.Dir(o.Path); mayExist(o.Path) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if !held[dir] {
				held[dir] = true
				p.Pinned = append(p.Pinned, Pin{Entry: Entry{dir, true, "something of tipstaff's own lies in it"}, InPlace: true})
			}
		}
	}
	slices.SortFunc(p.Pinned, func(a, b Pin) int { return byPath(a.Path, b.Path) })
	slices.SortFunc(p.Hidden, func(a, b Entry) int { return byPath(a.Path, b.Path) })
}
