//go:build linux

package sandbox

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/profile"
)

// glance is a look that is cheap enough for every command, a few calls of stat:
// whether a repository has come or gone where most do, in a workspace, where
// commands were run, or right below. It spares the next command the pause between
// two real looks. What it does not see, the next of those finds.
type glance struct {
	mu    sync.Mutex
	fixed int // so many of dirs are workspaces, and stay
	dirs  []*glanced
}

// glanced is a directory as it was at the last look.
type glanced struct {
	dir     string
	entries []string // by which git finds repositories
	names   []sign   // itself and directories in it, where names may come and go
	signs   []sign   // in repositories
}

// sign is a path, and what was there.
type sign struct {
	path string
	was  stamp
	at   time.Time
	only bool // which file it is counts, not when it was changed
}

// stamp tells whether a directory has changed. Nobody can set the time of change
// back. The zero stamp is that of nothing.
type stamp struct {
	dev, ino uint64
	changed  unix.Timespec
}

func stampOf(path string) stamp {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return stamp{}
	}
	return stamp{st.Dev, st.Ino, st.Ctim}
}

// file tells only which file it is.
func (s stamp) file() stamp { return stamp{dev: s.dev, ino: s.ino} }

func newSign(path string) sign { return sign{path: path, was: stampOf(path), at: time.Now()} }

// tick is longer than the steps in which file systems count the times of files:
// what was changed less than a tick before it was looked at may have changed again
// without a trace.
const tick = 20 * time.Millisecond

// same reports whether a sign is surely what it was.
func (s sign) same() bool {
	is := stampOf(s.path)
	if s.only {
		return is.file() == s.was
	}
	return is == s.was && (is == stamp{} || s.at.Sub(time.Unix(s.was.changed.Unix())) > tick)
}

const (
	glancedDirs  = 4 // workspaces and directories of commands, at most
	glancedRepos = 2 // in one of them, at most
	glancedBelow = 4 // directories in one of them, at most
)

func newGlanced(dir string) *glanced {
	g := &glanced{dir: dir}
	g.renew()
	return g
}

// renew remembers what is there now.
func (g *glanced) renew() {
	g.names, g.entries = g.look()
	g.signs = g.signs[:0]
	for _, entry := range g.entries[:min(len(g.entries), glancedRepos)] {
		g.signs = append(g.signs, sign{path: entry, was: stampOf(entry).file(), only: true})
		for _, path := range profile.Signs(entry) {
			g.signs = append(g.signs, newSign(path))
		}
	}
}

// look gives what is there now. What comes after the stamps were taken changes
// them, what came before is among the entries.
func (g *glanced) look() (names []sign, entries []string) {
	names = []sign{newSign(g.dir)}
	_, below := profile.Entries(g.dir)
	for _, dir := range below[:min(len(below), glancedBelow)] {
		names = append(names, newSign(dir))
	}
	entries, _ = profile.Entries(g.dir)
	return names, entries
}

// changed reports whether a repository may have come, gone or changed. Other names
// may come and go.
func (g *glanced) changed() bool {
	differs := func(s sign) bool { return !s.same() }
	if slices.ContainsFunc(g.signs, differs) {
		return true
	}
	if !slices.ContainsFunc(g.names, differs) {
		return false
	}
	names, entries := g.look()
	if !slices.Equal(entries, g.entries) {
		return true
	}
	g.names = names
	return false
}

// renew remembers what there is now, in these workspaces and where commands ran.
func (g *glance) renew(workspaces []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dirs = g.dirs[min(g.fixed, len(g.dirs)):]
	g.fixed = min(len(workspaces), glancedDirs/2)
	var tops []*glanced
	for _, dir := range workspaces[:g.fixed] {
		tops = append(tops, &glanced{dir: dir})
	}
	g.dirs = append(tops, g.dirs...)
	for _, d := range g.dirs {
		d.renew()
	}
}

// changed reports whether it may be that repositories are no longer those that the
// last look has found.
func (g *glance) changed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.dirs, (*glanced).changed)
}

// into adds the directory of a command, before it runs. It reports whether there
// are repositories that are not known.
func (g *glance) into(dir string, known []string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.ContainsFunc(g.dirs, func(d *glanced) bool { return d.dir == dir }) {
		return false
	}
	if len(g.dirs) >= glancedDirs {
		g.dirs = slices.Delete(g.dirs, g.fixed, g.fixed+1) // that was added first
	}
	d := newGlanced(dir)
	g.dirs = append(g.dirs, d)
	return slices.ContainsFunc(d.entries, func(entry string) bool { return !slices.Contains(known, entry) })
}
