//go:build linux

package sandbox

import (
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A sandbox that a session has left may serve another one if nothing in it can tell of
// the first: no process, no object of its IPC namespace (see [proc.Enclosure.Untouched]),
// and nothing in the directories that are the session's own. Of these the kernel keeps
// when something last changed: names in them, modes, attributes and access control lists.
// No command can set that time back.

// stamp is a directory of a sandbox as it was made.
type stamp struct {
	path string
	was  unix.Stat_t
}

func (s stamp) same() bool {
	var is unix.Stat_t
	return unix.Lstat(s.path, &is) == nil && is == s.was
}

// stamps are those of a sandbox, and from when on each change shows in them.
type stamps struct {
	list []stamp
	ripe time.Time
}

// tick is longer than the steps in which kernels before 6.13 count the times of files.
const tick = 20 * time.Millisecond

// stamp notes how the directories of a room are that no command has been in.
func (w *walls) stamp(dir string) {
	st, clocks := &stamps{ripe: time.Now()}, []string{tempOf(dir)}
	paths := []string{dir, tempOf(dir)}
	if w.view != nil {
		paths = w.view.ownDirectories(dir)
	}
	for path, fd := range w.enclosure.Roots() {
		outside := fmt.Sprintf("/proc/self/fd/%d/.", fd)
		paths = append(paths, outside)
		if path == "/dev/pts" { // a mode and times are all that can be left there
			paths = append(paths, outside+"/ptmx")
		} else {
			clocks = append(clocks, outside)
		}
	}
	for _, path := range clocks {
		if !finelyTimed(path) {
			st.ripe = time.Now().Add(tick)
		}
	}
	for _, path := range paths {
		one := stamp{path: path}
		if unix.Lstat(path, &one.was) != nil {
			return // it is used once
		}
		st.list = append(st.list, one)
	}
	w.stamps = st
}

// ownDirectories are those in which commands of a room may leave something.
func (v *view) ownDirectories(dir string) (list []string) {
	known := map[string]bool{}
	for _, s := range v.spots {
		if s.in != "tmp" && s.in != "var-tmp" {
			continue // mounted read-only
		}
		base := filepath.Join(dir, s.in)
		at := base
		if s.name != "" {
			at = filepath.Dir(s.at(dir)) // something is mounted on the spot itself
		}
		for ; within(at, base) && !known[at]; at = filepath.Dir(at) {
			known[at] = true
			list = append(list, at)
		}
	}
	return list
}

// finelyTimed reports whether the file system of a directory tells any two changes of it
// apart by their times. A clock of steps cannot show so many times in so little time.
func finelyTimed(path string) bool {
	const changes, least = 4, time.Millisecond // no kernel has shorter steps: CONFIG_HZ
	var before, is unix.Stat_t
	began := time.Now()
	for range changes {
		if unix.Stat(path, &is) != nil || unix.Chmod(path, is.Mode&0o7777) != nil || unix.Stat(path, &is) != nil || is.Ctim == before.Ctim {
			return false
		}
		before = is
	}
	return time.Since(began) < (changes-2)*least
}

// untouched reports whether a room that no session has any more is as it was made.
func (r *room) untouched() bool {
	r.mu.Lock()
	w, began, spent := r.walls, r.began, r.spent || r.users > 0
	r.mu.Unlock()
	if w == nil || w.stamps == nil || spent || began.Before(w.stamps.ripe) {
		return false
	}
	if !r.held.anyone() || r.held.network.Reach != AllNetwork || len(w.copies) > 0 {
		return false
	}
	if outdated, _ := r.outdated(); outdated || !w.enclosure.Untouched() {
		return false
	}
	for _, s := range w.stamps.list {
		if !s.same() {
			return false
		}
	}
	return true
}
