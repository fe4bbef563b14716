//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// A treeWalk visits everything in a directory that commands have filled, however deep
// it is: a command makes a million nested directories in seconds. So it needs a bounded
// number of descriptors and no recursion, and its time grows with the number of files
// only. It follows no link, and what commands change meanwhile leads it nowhere else.
type treeWalk struct {
	// file is called for everything that is no directory, dir for every directory,
	// before what is in it; both may be nil. left is called after that, unless it is
	// nil. All get the descriptor of the directory that it is in.
	file, dir func(in int, name string, st *unix.Stat_t) error
	leave     func(in int, name string) error
	// ended ends the walk when it is closed. It may be nil.
	ended <-chan struct{}

	levels []level // from the first directory to the one that is visited
	failed error   // the first error of a function, or of the system
}

// level is a directory on the way down.
type level struct {
	name    string
	f       *os.File // nil in the middle of a deep tree
	dev     uint64
	ino     uint64
	closed  uint32   // its permissions, if it was closed to its own user
	granted bool     // and has been opened for the walk
	dirs    []string // that are still to be visited
}

const (
	// keptOpen is how many levels stay open, from the first one on. The way back
	// through deeper ones is "..", which leads elsewhere if a command has moved a
	// directory; then the walk goes on at the last of these.
	keptOpen = 64
	// readAtOnce is how many names are read from a directory at once.
	readAtOnce = 1024
)

var errWalkEnded = errors.New("the walk was ended")

// walk visits everything below a directory.
func (w *treeWalk) walk(dir string) error {
	in, name := filepath.Split(dir)
	f, err := os.OpenFile(filepath.Clean(in), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return w.walkIn(f, name)
}

// walkIn visits everything below a directory of another one, which it closes; left is
// called for itself, too. It returns the first error, after it has visited all it could,
// or errWalkEnded at once.
func (w *treeWalk) walkIn(in *os.File, name string) error {
	w.levels = []level{{f: in, dirs: []string{name}}}
	for len(w.levels) > 0 {
		select {
		case <-w.ended:
			for len(w.levels) > 0 {
				w.pop()
			}
			return errWalkEnded
		default:
		}
		l := w.last()
		if n := len(l.dirs); n > 0 {
			name := l.dirs[n-1]
			l.dirs = l.dirs[:n-1]
			w.down(l, name)
		} else {
			w.up()
		}
	}
	return w.failed
}

func (w *treeWalk) last() *level { return &w.levels[len(w.levels)-1] }

// note keeps the first error. What is no longer there is none.
func (w *treeWalk) note(err error) {
	if w.failed == nil && err != nil && !errors.Is(err, unix.ENOENT) {
		w.failed = err
	}
}

// down opens a directory of a level, and visits its files.
func (w *treeWalk) down(in *level, name string) {
	l := level{name: name}
	fd, err := openLevel(in, name)
	if errors.Is(err, unix.EACCES) {
		l.closed, l.granted = grantBelow(in, name)
		fd, err = openLevel(in, name)
	}
	if err != nil {
		w.note(&os.PathError{Op: "open", Path: name, Err: err})
		return
	}
	w.enter(l, fd)
}

// enter makes an open directory the last level, and visits its files.
func (w *treeWalk) enter(l level, fd int) {
	l.f = os.NewFile(uintptr(fd), l.name)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		w.note(err)
	}
	l.dev, l.ino = st.Dev, st.Ino
	w.levels = append(w.levels, l)
	if n := len(w.levels); n > keptOpen+1 {
		if above := &w.levels[n-2]; above.f != nil {
			_ = above.f.Close()
			above.f = nil
		}
	}
	w.files(w.last())
}

// files visits the files of a directory, and notes its directories.
func (w *treeWalk) files(l *level) {
	for {
		names, err := l.f.Readdirnames(readAtOnce)
		for _, name := range names {
			w.entry(l, name)
		}
		if err != nil || len(names) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				w.note(err)
			}
			return
		}
		select {
		case <-w.ended:
			return
		default:
		}
	}
}

// entry visits one name of a directory. It looks at the name itself and follows
// no link, because a command may have put a link there that leads out of its
// own files. Directories wait in l.dirs, so that the walk needs no recursion.
func (w *treeWalk) entry(l *level, name string) {
	in := int(l.f.Fd())
	var st unix.Stat_t
	err := l.withPermissions(func() error { return unix.Fstatat(in, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		w.note(&os.PathError{Op: "lstat", Path: name, Err: err})
		return
	}
	call := w.file
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		l.dirs = append(l.dirs, name)
		call = w.dir
	}
	if call != nil {
		w.note(l.withPermissions(func() error { return call(in, name, &st) }))
	}
}

// up leaves the last level for the one above.
func (w *treeWalk) up() {
	var above *os.File
	n := len(w.levels)
	if n > 1 && w.levels[n-2].f == nil {
		above = w.reopenParent(&w.levels[n-1], &w.levels[n-2])
		w.levels[n-2].f = above
	}
	name := w.last().name
	w.pop()
	for len(w.levels) > 0 && w.last().f == nil {
		w.pop() // the way back is lost
		name = ""
	}
	if len(w.levels) > 0 && w.leave != nil && name != "" {
		l := w.last()
		w.note(l.withPermissions(func() error { return w.leave(int(l.f.Fd()), name) }))
	}
}

// reopenParent opens the level above, or returns nil if that is another directory now.
func (w *treeWalk) reopenParent(l, above *level) *os.File {
	fd, err := openLevel(l, "..")
	if err != nil {
		w.note(&os.PathError{Op: "open", Path: "..", Err: err})
		return nil
	}
	f := os.NewFile(uintptr(fd), above.name)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Dev != above.dev || st.Ino != above.ino {
		w.note(&os.PathError{Op: "open", Path: "..", Err: errors.New("a directory was moved")})
		_ = f.Close()
		return nil
	}
	return f
}

// pop closes the last level, with the permissions it had.
func (w *treeWalk) pop() {
	l := w.last()
	if l.f != nil {
		if l.granted {
			_ = unix.Fchmod(int(l.f.Fd()), l.closed)
		}
		_ = l.f.Close()
	}
	w.levels = w.levels[:len(w.levels)-1]
}

// withPermissions calls f; once more, with all permissions of its own user, if those of the
// directory forbid it.
func (l *level) withPermissions(f func() error) error {
	err := f()
	if !errors.Is(err, unix.EACCES) || l.granted {
		return err
	}
	var st unix.Stat_t
	if unix.Fstat(int(l.f.Fd()), &st) != nil || unix.Fchmod(int(l.f.Fd()), st.Mode&0o7777|0o700) != nil {
		return err
	}
	l.closed, l.granted = st.Mode&0o7777, true
	return f()
}

// openLevel opens a directory in a level so that its reading leaves no time on it: a
// sandbox serves another session only if its directories are as they were made.
func openLevel(in *level, name string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	err = in.withPermissions(func() error {
		fd, err = unix.Openat(int(in.f.Fd()), name, flags|unix.O_NOATIME, 0)
		if errors.Is(err, unix.EPERM) { // another user's
			fd, err = unix.Openat(int(in.f.Fd()), name, flags, 0)
		}
		return err
	})
	return fd, err
}

// grantBelow opens a directory in a level to its own user, and returns the permissions
// it had. It changes those of nothing else, whatever bears the name now.
func grantBelow(in *level, name string) (before uint32, ok bool) {
	fd, err := unix.Openat(int(in.f.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0, false
	}
	before = st.Mode & 0o7777
	return before, unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), before|0o700) == nil
}

// removing is a walk that removes what it visits.
func removing(ended <-chan struct{}) *treeWalk {
	return &treeWalk{
		file:  func(in int, name string, _ *unix.Stat_t) error { return unix.Unlinkat(in, name, 0) },
		leave: func(in int, name string) error { return unix.Unlinkat(in, name, unix.AT_REMOVEDIR) },
		ended: ended,
	}
}

// removeTree removes a directory, even if a command has removed permissions from
// directories in it. No command may run in it. It returns errWalkEnded if ended was
// closed before all was gone; ended may be nil.
func removeTree(dir string, ended <-chan struct{}) (err error) {
	for range 3 { // a file system may hide a name while others are removed
		if err = removing(ended).walk(dir); err == nil || errors.Is(err, errWalkEnded) {
			return err
		}
	}
	return fmt.Errorf("cannot remove %s: %w", dir, err)
}

// removeIn removes whatever bears a name below root.
func removeIn(root *os.Root, name string) error {
	err := root.Remove(name)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	in, err := root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return removing(nil).walkIn(in, filepath.Base(name))
}
