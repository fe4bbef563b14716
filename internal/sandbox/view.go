//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tipstaff/internal/guard"
	"tipstaff/internal/proc"
	"tipstaff/internal/profile"
)

// view is what commands in namespaces see of the file system, while it is laid
// out. Directories of the machine in which programs meet that do not know each
// other are covered by private ones.
type view struct {
	paths   profile.Paths
	search  []string // directories of programs
	seen    []string // other directories that stay readable
	dir     string   // of the room, in the scratch directory
	scratch *scratch
	covers  []cover
	shown   []string          // see readable
	copies  map[string]string // see copyOf
	mounts  []proc.Mount
}

// cover is a private directory in the place of one of the machine's.
type cover struct {
	path     string
	source   string // "": in memory
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

// newView lays out the mounts for a profile. dir is the room's directory, which
// is filled with what has to be there before the mounts are made.
func newView(p profile.Paths, search, seen []string, dir string, s *scratch) (*view, error) {
	v := &view{paths: p, search: search, seen: seen, dir: dir, scratch: s}
	for _, step := range []func() error{v.cover, v.devices, v.show, v.hideAndPin} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("cannot lay out what commands see: %w", err)
		}
	}
	v.mounts = slices.DeleteFunc(v.mounts, outOfReach())
	return v, nil
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
		{path: "/tmp", source: tempOf(v.dir)},
		{path: "/var/tmp", source: filepath.Join(v.dir, "var-tmp")},
		{path: "/run", source: filepath.Join(v.dir, "run"), readOnly: true},
	} {
		if st, err := os.Lstat(c.path); err != nil || !st.IsDir() {
			continue
		}
		if err := os.MkdirAll(c.source, 0o700); err != nil {
			return err
		}
		v.covers = append(v.covers, c)
		v.mounts = append(v.mounts, proc.Mount{Path: c.path, Source: c.source, ReadOnly: c.readOnly})
	}
	return nil
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
			copied, err := v.copyOf(pin.Path)
			if err != nil {
				return err
			}
			m.Source, m.ReadOnly = copied, false
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

// copyOf makes a copy of a directory that git tracks, which commands may change.
func (v *view) copyOf(path string) (string, error) {
	to := filepath.Join(v.dir, "copies")
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", err
	}
	to, err := os.MkdirTemp(to, "*")
	if err != nil {
		return "", err
	}
	if v.copies == nil {
		v.copies = map[string]string{}
	}
	v.copies[path] = to
	return to, guard.Copy(path, to)
}

// bring mounts a file or directory of the machine in its own place, and makes
// that place where it lies in a private directory.
func (v *view) bring(path string, readOnly bool) error {
	if c := v.coverOf(path); c != nil && c.source != "" && c.path != path {
		if c.shared {
			v.scratch.making.Lock()
			defer v.scratch.making.Unlock()
		}
		if err := makePlace(path, c.source, strings.TrimPrefix(path, c.path+"/")); err != nil {
			return err
		}
	}
	v.mounts = append(v.mounts, proc.Mount{Path: path, Source: path, ReadOnly: readOnly})
	return nil
}

// makePlace makes, in a private directory, what path can be mounted on. The
// directory has been the commands' own: what they have put in the way goes, and
// a link leads nowhere.
func makePlace(path, dir, name string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	parts := strings.Split(name, "/")
	for i := range parts {
		at := filepath.Join(parts[:i+1]...)
		if last := i == len(parts)-1; last && !st.IsDir() {
			return makeFile(root, at)
		}
		if err := makeDirectory(root, at); err != nil {
			return err
		}
	}
	return nil
}

func makeDirectory(root *os.Root, name string) error {
	there, err := root.Lstat(name)
	if err == nil && there.IsDir() {
		return nil
	}
	if err == nil {
		err = root.Remove(name)
	}
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return root.Mkdir(name, 0o700)
}

func makeFile(root *os.Root, name string) error {
	there, err := root.Lstat(name)
	if err == nil && there.Mode().IsRegular() {
		return nil
	}
	if err == nil {
		err = root.RemoveAll(name)
	}
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
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
