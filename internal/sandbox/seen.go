//go:build linux

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff"
)

// Seen is the machine's files as commands of a session see them. The session sandboxes
// of a session differ in their private directories; the first that has a file counts.
type Seen struct{ in []seenIn }

// seenIn is a session sandbox with the view of its next command.
type seenIn struct {
	dir  string
	view *view
	used time.Time
}

// SeenBy returns the files as the next commands of a session see them; nil if no
// command has run in it, or if commands see those of the machine. Terms of a rule can
// give a command another view, so that the file is looked for again when it starts
// ([Confined.Find]).
func (s *Sandbox) SeenBy(principal string, id tipstaff.SessionID) *Seen {
	select {
	case <-s.ready:
	default:
		return nil // no command has run yet
	}
	s.mu.Lock()
	var list []*sessionSandbox
	for key, sess := range s.sessions {
		if key.principal == principal && key.session == id {
			list = append(list, sess)
		}
	}
	s.mu.Unlock()
	var seen Seen
	for _, sess := range list {
		sess.mu.Lock()
		if l := sess.layers; l != nil && l.view != nil {
			seen.in = append(seen.in, seenIn{sess.dir, l.view, sess.lastUsed})
		}
		sess.mu.Unlock()
	}
	if seen.in == nil {
		return nil
	}
	slices.SortFunc(seen.in, func(a, b seenIn) int { return b.used.Compare(a.used) })
	return &seen
}

// Seen returns the files as commands see them that are confined like this one; nil if
// these are the machine's.
func (c *Confined) Seen() *Seen {
	if c.layers == nil || c.layers.view == nil {
		return nil
	}
	return &Seen{[]seenIn{{dir: c.session.dir, view: c.layers.view}}}
}

// Find returns where the server finds the file that the command sees at an absolute path.
func (c *Confined) Find(path string) (file string, err error) {
	seen := c.Seen()
	if seen == nil {
		return path, nil
	}
	_, file, err = seen.Follow(path)
	return file, err
}

// Follow implements [tipstaff/internal/policy.View].
func (s *Seen) Follow(name string) (path, file string, err error) {
	for i, in := range s.in {
		path, file, err = in.follow(name)
		var st unix.Stat_t
		if i == len(s.in)-1 || err == nil && unix.Lstat(file, &st) == nil {
			break
		}
	}
	return path, file, err
}

var (
	errTooManyLinks = errors.New("too many links")
	errNoFile       = errors.New("commands have no file of the machine there")
)

// follow resolves a path step by step. path has no links at any time, so that ".." is
// the directory above. own counts the steps that are not from a link: where a link leads
// to nothing, a write makes a file that the path does not name. Commands may change a
// private directory meanwhile, as they may change any directory of a workspace.
func (s seenIn) follow(name string) (path, file string, err error) {
	if !filepath.IsAbs(name) {
		return "", "", fs.ErrInvalid
	}
	path, left, links, missing := "/", strings.Split(name, "/"), 0, false
	for own := len(left); len(left) > 0; {
		step, linked := left[0], len(left) > own
		if left = left[1:]; !linked {
			own--
		}
		switch {
		case step == "", step == ".":
			continue
		case step == ".." && missing:
			return "", "", fs.ErrNotExist
		case step == "..":
			path = filepath.Dir(path)
			continue
		}
		next := filepath.Join(path, step)
		at, err := s.machine(next)
		if err != nil {
			return "", "", err
		}
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !linked:
			missing = true
		case err != nil:
			return "", "", err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(at)
			if links++; err != nil || links > maxSeenLinks {
				return "", "", errors.Join(err, errTooManyLinks)
			}
			if filepath.IsAbs(target) {
				path = "/"
			}
			left = slices.Concat(strings.Split(target, "/"), left)
			continue
		case !info.IsDir() && len(left) > 0:
			return "", "", unix.ENOTDIR
		}
		path = next
	}
	file, err = s.machine(path)
	return path, file, err
}

// maxSeenLinks is the number of symbolic links that the kernel follows for one path.
const maxSeenLinks = 40

// machine returns where the server finds what commands see at a path without links.
func (s seenIn) machine(path string) (string, error) {
	c := s.view.coverOf(path)
	switch {
	case c == nil, s.view.visible(path):
		return path, nil
	case c.source == "":
		return "", errNoFile // in memory
	}
	at := c.source
	if !filepath.IsAbs(at) {
		at = filepath.Join(s.dir, at)
	}
	if path == c.path {
		return at, nil
	}
	return filepath.Join(at, strings.TrimPrefix(path, c.path+"/")), nil
}
