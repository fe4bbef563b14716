package protected

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Locations returns the present locations of the files that must be kept from
// commands, sorted by path: the files that were read, even if they have been moved
// since; and the files at their paths now, unless a command can decide where these
// paths lead.
func (k *Registry) Locations() []Location {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.reach(Confinement{})
	var all []Location
	for _, f := range k.files {
		for path, info := range f.present(r) {
			if i := slices.IndexFunc(all, func(p Location) bool { return p.Path == path }); i >= 0 {
				all[i].Kind = min(all[i].Kind, f.Kind)
				continue
			}
			all = append(all, Location{Path: path, Dir: info.IsDir(), Kind: f.Kind, Why: f.Why, Name: f.Path})
		}
	}
	slices.SortFunc(all, func(a, b Location) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// present returns what exists of a file, by canonical path. Devices and pipes are
// left out.
func (f *trackedFile) present(r reach) map[string]fs.FileInfo {
	all := map[string]fs.FileInfo{}
	add := func(path string, info fs.FileInfo) {
		if info.IsDir() || info.Mode().IsRegular() || info.Mode()&fs.ModeSocket != 0 {
			all[path] = info
		}
	}
	for _, h := range f.handles {
		if path := currentPath(h.file); path != "" {
			add(path, h.info)
		}
	}
	// There may be a new file at the canonical path, which is as secret,
	// because a person renamed it into place. A symbolic link there is a
	// command's.
	if info, err := os.Lstat(f.resolution.path); f.resolution.err == nil && err == nil && info.Mode()&fs.ModeSymlink == 0 {
		add(f.resolution.path, info)
	}
	now := resolve(f.Path)
	if f.Dir && f.Kind == Secret && f.resolution.target == nil && now.err == nil { // the server has created it since
		f.resolution, f.identity = now, now.target
		f.hold(now)
	}
	if now.err == nil && (now.direct() || r.risk(now) == "") {
		add(now.path, now.target)
	}
	return all
}

// Exposed is a file that commands, or other users, may change.
type Exposed struct {
	File
	Reason string // why it is exposed
}

// Exposed returns the files that are not read again when they change, and why.
// See also [Advice].
func (k *Registry) Exposed(confinement Confinement) []Exposed {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.reach(confinement)
	var all []Exposed
	for _, f := range k.files {
		if why := f.risk(r); why != "" {
			all = append(all, Exposed{f.File, why})
		}
	}
	return all
}

// Linked returns an error for each secret file that has a second name. A
// command may have made that name in a directory that it may read, and a file
// cannot be hidden under an unknown name.
func (k *Registry) Linked() (faults []error) {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files {
		info := f.resolution.target
		if f.Kind == Secret && info != nil && info.Mode().IsRegular() && links(info) > 1 {
			faults = append(faults, fmt.Errorf("%s: %s has %d names (hard links), and commands could read it by another one; make it a file of its own: cp -p %s %s.new && mv %s.new %s",
				f.Setting, f.Path, links(info), f.Path, f.Path, f.Path, f.Path))
		}
	}
	return faults
}

func reasonOf(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
