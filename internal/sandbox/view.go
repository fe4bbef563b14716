//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tipstaff/internal/proc"
	"tipstaff/internal/profile"
)

// view is what commands in namespaces see of the file system: the same for all sessions
// but for what lies in the directory of each, its room's. Directories of the machine in
// which programs meet that do not know each other are covered by private ones.
type view struct {
	paths   profile.Paths
	search  []string // directories of programs
	seen    []string // other directories that stay readable
	scratch *scratch
	covers  []cover
	shown   []string     // see readable
	mounts  []proc.Mount // a source that is no absolute path lies in the room
	spots   []spot       // what has to be in the room before the mounts are made, parents first
	copies  []string     // directories that are copied into the room
	files   []string     // shown by copies, in the room
}

// spot is a directory or an empty file in a private directory, to be mounted on.
type spot struct {
	in   string // the private directory; its path in the room
	name string // in that; "": itself
	file bool
}

// cover is a private directory in the place of one of the machine's.
type cover struct {
	path     string
	source   string // "": in memory; in the room if it is no absolute path
	readOnly bool
	shared   bool // with other rooms: what has to be in it is made by one at a time
}

// deviceFiles are all devices that a command has.
var deviceFiles = []string{"null", "zero", "full", "random", "urandom", "tty"}

// deviceLinks are the names that programs expect beside them.
var deviceLinks = map[string]string{
	"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	"ptmx": "pts/ptmx",
}

// sharedMemoryBytes bounds /dev/shm, which counts as memory.
const sharedMemoryBytes = 512 << 20

// newView lays out the mounts for a profile. It makes nothing but what all rooms share.
func newView(p profile.Paths, search, seen []string, s *scratch) (*view, error) {
	v := &view{paths: p, search: search, seen: seen, scratch: s}
	for _, step := range []func() error{v.cover, v.devices, v.show, v.hideAndPin} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("cannot lay out what commands see: %w", err)
		}
	}
	closed := outOfReach()
	v.mounts = slices.DeleteFunc(v.mounts, func(m proc.Mount) bool { return closed(inRoom(m, s.dir)) })
	return v, nil
}

// inRoom gives a mount as it is in the room with this directory.
func inRoom(m proc.Mount, dir string) proc.Mount {
	if m.Source != "" && !filepath.IsAbs(m.Source) {
		m.Source = filepath.Join(dir, m.Source)
	}
	return m
}

// tempOf is the temporary directory of a room's commands, as the server sees it.
func tempOf(dir string) string { return filepath.Join(dir, "tmp") }

// privateDirs are directories of the machine in whose place a room has its own.
var privateDirs = []string{"/tmp", "/var/tmp", "/run"}

// cover puts private directories in the place of the shared ones.
func (v *view) cover() error {
	if v.paths.Profile == profile.Open {
		return nil
	}
	for _, c := range []cover{
		{path: "/tmp", source: "tmp"},
		{path: "/var/tmp", source: "var-tmp"},
		{path: "/run", source: "run", readOnly: true},
	} {
		if st, err := os.Lstat(c.path); err != nil || !st.IsDir() {
			continue
		}
		v.coverBy(c)
	}
	return nil
}

// coverBy puts a directory of the room in the place of another one.
func (v *view) coverBy(c cover) {
	v.covers = append(v.covers, c)
	v.spots = append(v.spots, spot{in: c.source})
	v.mounts = append(v.mounts, proc.Mount{Path: c.path, Source: c.source, ReadOnly: c.readOnly})
}

// devices gives the few devices that programs need, in a /dev of its own: the
// user who the server is may be one who may open the others. All rooms have the
// same, and none can write to it.
func (v *view) devices() error {
	if err := v.scratch.makeDev(); err != nil {
		return err
	}
	c := cover{path: "/dev", source: v.scratch.dev, readOnly: true, shared: true}
	v.covers = append(v.covers, c)
	v.mounts = append(v.mounts, proc.Mount{Path: c.path, Source: c.source, ReadOnly: true})
	for _, name := range deviceFiles {
		if err := v.bring("/dev/"+name, false); err != nil {
			return err
		}
		v.mounts[len(v.mounts)-1].Device = true
	}
	v.covers = append(v.covers, cover{path: "/dev/shm"})
	v.mounts = append(v.mounts,
		proc.Mount{Path: "/dev/pts", Terminals: true},
		proc.Mount{Path: "/dev/shm", Bytes: sharedMemoryBytes, Mode: 0o1777})
	return nil
}

// show brings what is readable in directories that are covered, and leaves
// writable what the profile has so.
func (v *view) show() error {
	for _, path := range v.readable() {
		if c := v.coverOf(path); c != nil && c.path != path {
			if _, err := os.Stat(path); err != nil {
				continue // it is not there: nothing is to be seen
			}
			if err := v.bring(path, true); err != nil {
				return err
			}
		}
	}
	for _, path := range v.paths.Writable() {
		if err := v.bring(path, false); err != nil {
			return err
		}
	}
	return nil
}

// readable are paths that stay readable wherever they are.
func (v *view) readable() []string {
	if v.shown != nil {
		return v.shown
	}
	list := slices.Concat(v.paths.Runtime, v.search, v.seen, v.linked())
	if v.paths.Profile != profile.Workspace {
		list = append(list, v.paths.Workspace...)
	}
	slices.Sort(list) // parents first
	v.shown = slices.Compact(list)
	return v.shown
}

// linked are the programs that directories of programs only link to: where both
// lie in directories that are covered, the link would lead nowhere.
func (v *view) linked() []string {
	var targets []string
	for _, dir := range v.search {
		if v.coverOf(dir) == nil || v.worked(dir) {
			continue // in the latter, commands make the links
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			target, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
			if err == nil && e.Type()&os.ModeSymlink != 0 && v.coverOf(target) != nil && !within(target, dir) {
				targets = append(targets, target)
			}
		}
	}
	return targets
}

// hideAndPin puts nothing in the place of what is hidden, and mounts on itself
// what is not to be changed or moved. Parents come first, so that what lies in
// a pin is hidden in it.
func (v *view) hideAndPin() error {
	type one struct {
		place profile.Place
		mount proc.Mount
	}
	var all []one
	for _, h := range v.paths.Hidden {
		m := proc.Mount{Path: h.Path}
		if !h.Dir {
			m.Source, m.ReadOnly = v.scratch.empty, true
		}
		all = append(all, one{h, m})
	}
	stages := v.paths.Stages()
	for _, pin := range v.paths.Pinned {
		m := proc.Mount{Path: pin.Path, Source: pin.Path, ReadOnly: !pin.InPlace, Link: pin.Link, KeepCovered: slices.Contains(stages, pin.Path)}
		if pin.Copy {
			m.Source, m.ReadOnly = copyIn(len(v.copies)), false
			v.copies = append(v.copies, pin.Path)
		}
		all = append(all, one{pin.Place, m})
	}
	slices.SortStableFunc(all, func(a, b one) int { return strings.Compare(a.place.Path, b.place.Path) })
	var closed []string // directories that were hidden: there is nothing in them any more
	for _, o := range all {
		gone := slices.ContainsFunc(closed, func(dir string) bool { return within(o.place.Path, dir) })
		if gone || !v.visible(o.place.Path) {
			continue
		}
		if o.mount.Source == "" {
			closed = append(closed, o.place.Path)
			shown, err := v.showIn(o.place.Path)
			if err != nil {
				return err
			} else if shown {
				continue
			}
		}
		v.mounts = append(v.mounts, o.mount)
	}
	return nil
}

// copyIn is where in a room a copy of a directory is that git tracks, which commands may
// change.
func copyIn(i int) string { return filepath.Join("copies", strconv.Itoa(i)) }

// bring mounts a file or directory of the machine in its own place, which has to be made
// where it lies in a private directory.
func (v *view) bring(path string, readOnly bool) error {
	if c := v.coverOf(path); c != nil && c.source != "" && c.path != path {
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		one := spot{c.source, strings.TrimPrefix(path, c.path+"/"), !st.IsDir()}
		if c.shared {
			v.scratch.making.Lock()
			defer v.scratch.making.Unlock()
			if err := one.clear(""); err != nil {
				return err
			}
		} else {
			v.spots = append(v.spots, one)
		}
	}
	v.mounts = append(v.mounts, proc.Mount{Path: path, Source: path, ReadOnly: readOnly})
	return nil
}

// coverOf finds the private directory that path lies in; the last one counts.
func (v *view) coverOf(path string) *cover {
	for i := len(v.covers) - 1; i >= 0; i-- {
		if within(path, v.covers[i].path) {
			return &v.covers[i]
		}
	}
	return nil
}

// visible reports whether what lies at path outside can be seen there inside: in
// a private directory, what was brought there. A readable directory that is
// covered itself, or is around that, does not bring what is in it.
func (v *view) visible(path string) bool {
	c := v.coverOf(path)
	if c == nil || v.writable(path) {
		return true
	}
	return slices.ContainsFunc(v.readable(), func(shown string) bool {
		return within(path, shown) && within(shown, c.path) && shown != c.path
	})
}

// writable reports whether commands may write in dir.
func (v *view) writable(dir string) bool {
	return slices.ContainsFunc(v.paths.Writable(), func(w string) bool { return within(dir, w) })
}

// worked reports whether dir is writable, or would be under another profile: what
// lies in a workspace may come from commands of an earlier server.
func (v *view) worked(dir string) bool {
	return v.writable(dir) || slices.ContainsFunc(v.paths.Workspace, func(w string) bool { return within(dir, w) })
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
