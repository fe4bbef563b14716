//go:build linux

package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Hold keeps what confines the command until release is called, which may be after
// [Confined.Release]: something is made there for the next call.
func (c *Confined) Hold() (release func()) {
	sess, l := c.session, c.layers
	if sess == nil {
		return func() {}
	}
	sess.mu.Lock()
	sess.users++
	l.users++
	sess.mu.Unlock()
	return func() {
		sess.drop(l)
		sess.part()
	}
}

// Leave leaves something for the next call that is confined like this one. It is
// closed if there is something already, and when what confines both ends or rests.
// The caller has called Hold, or not yet Release.
func (c *Confined) Leave(w io.Closer) {
	sess, l := c.session, c.layers
	if sess == nil {
		_ = w.Close()
		return
	}
	sess.mu.Lock()
	fits := l.waiting == nil && sess.layers == l && !sess.doomed && !sess.gone
	if fits {
		l.waiting = w
	}
	sess.mu.Unlock()
	if !fits {
		_ = w.Close()
	}
}

// Take returns what an earlier call has left, or nil. It is the caller's then.
func (c *Confined) Take() io.Closer {
	if c.session == nil {
		return nil
	}
	return c.session.take(c.layers)
}

func (sess *sessionSandbox) take(l *layers) io.Closer {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	w := l.waiting
	l.waiting = nil
	return w
}

// dismiss closes what waits in layers.
func (sess *sessionSandbox) dismiss(l *layers) {
	if l == nil {
		return
	}
	if w := sess.take(l); w != nil {
		_ = w.Close()
	}
}

// Private reports whether an open file or directory lies in a directory for
// temporary files that only commands confined like this one see. path is what they
// see it by.
func (c *Confined) Private(fd int) (path string, private bool) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	var open unix.Stat_t
	if err != nil || c.session == nil || unix.Fstat(fd, &open) != nil {
		return path, false
	}
	for _, own := range c.session.private(c.layers) {
		rest, in := strings.CutPrefix(path, own.seen)
		if !in || rest != "" && rest[0] != '/' {
			continue
		}
		var is unix.Stat_t
		name, flags := filepath.Join(own.path, rest), unix.AT_SYMLINK_NOFOLLOW
		if own.path == "" {
			name, flags = strings.TrimPrefix(rest, "/"), flags|unix.AT_EMPTY_PATH
		}
		if unix.Fstatat(own.fd, name, &is, flags) == nil && is.Dev == open.Dev && is.Ino == open.Ino {
			return path, true
		}
	}
	return path, false
}

// ownPlace is a directory that only the commands of one session sandbox see: as the
// server has it, by path or by descriptor, and as they see it.
type ownPlace struct {
	path string
	fd   int
	seen string
}

func (sess *sessionSandbox) private(l *layers) (list []ownPlace) {
	if l.view == nil {
		return []ownPlace{{path: tempOf(sess.dir), fd: unix.AT_FDCWD, seen: tempOf(sess.dir)}}
	}
	for _, c := range l.view.covers {
		if !c.readOnly && !c.shared && c.source != "" {
			list = append(list, ownPlace{path: filepath.Join(sess.dir, c.source), fd: unix.AT_FDCWD, seen: c.path})
		}
	}
	for path, fd := range l.enclosure.Roots() {
		list = append(list, ownPlace{fd: fd, seen: path})
	}
	return list
}
