//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Private reports whether an open file or directory is in a directory for
// temporary files that only commands confined like this one see. path is the name
// under which they see it. The caller keeps fd.
func (c *Confined) Private(fd int) (path string, private bool) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	var open unix.Stat_t
	if err != nil || c.session == nil || unix.Fstat(fd, &open) != nil {
		return path, false
	}
	for _, own := range c.session.private(c.layers) {
		rest, in := strings.CutPrefix(path, own.visiblePath)
		if !in || rest != "" && rest[0] != '/' {
			continue
		}
		var is unix.Stat_t
		name, flags := filepath.Join(own.serverPath, rest), unix.AT_SYMLINK_NOFOLLOW
		if own.serverPath == "" {
			name, flags = strings.TrimPrefix(rest, "/"), flags|unix.AT_EMPTY_PATH
		}
		if unix.Fstatat(own.fd, name, &is, flags) == nil && is.Dev == open.Dev && is.Ino == open.Ino {
			return path, true
		}
	}
	return path, false
}

// privateDir is a directory that only the commands of one session sandbox see: as the
// server has it, by path or by descriptor, and as they see it.
type privateDir struct {
	serverPath  string
	fd          int
	visiblePath string
}

func (sess *sessionSandbox) private(l *layers) (list []privateDir) {
	if l.view == nil {
		return []privateDir{{serverPath: tempOf(sess.dir), fd: unix.AT_FDCWD, visiblePath: tempOf(sess.dir)}}
	}
	for _, c := range l.view.covers {
		if !c.readOnly && !c.shared && c.source != "" {
			list = append(list, privateDir{serverPath: filepath.Join(sess.dir, c.source), fd: unix.AT_FDCWD, visiblePath: c.path})
		}
	}
	for path, fd := range l.enclosure.Roots() {
		list = append(list, privateDir{fd: fd, visiblePath: path})
	}
	return list
}
