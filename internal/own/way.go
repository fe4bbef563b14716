package own

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// way is how a path is followed: every name that is looked up, in order, and
// what the path leads to.
type way struct {
	steps []step
	// at is what the path leads to, canonical; of a path whose end does not exist,
	// what would be made.
	at     string
	target fs.FileInfo // nil: nothing is there
	err    error       // why the path cannot be followed to its end
}

// step is a name that was looked up in a directory.
type step struct {
	dir   string // canonical
	in    fs.FileInfo
	name  string
	found fs.FileInfo // nil: nothing has the name
}

func (s step) path() string { return filepath.Join(s.dir, s.name) }

func (s step) isLink() bool { return s.found != nil && s.found.Mode()&fs.ModeSymlink != 0 }

// maxLinks is how many symbolic links the kernel follows for one path.
const maxLinks = 40

// wayOf follows an absolute path as the kernel does.
func wayOf(full string) way {
	w := way{at: rootOf(full)}
	names := split(full)
	in, err := os.Lstat(w.at)
	for links := 0; err == nil && len(names) > 0; {
		if !in.IsDir() {
			err = &fs.PathError{Op: "open", Path: w.at, Err: syscall.ENOTDIR}
			break
		}
		s := step{dir: w.at, in: in, name: names[0]}
		s.found, err = os.Lstat(s.path()) // of .., too: nothing in dir is a link
		w.steps = append(w.steps, s)
		if err != nil {
			break
		}
		names = names[1:]
		if !s.isLink() {
			w.at, in = s.path(), s.found
			continue
		}
		if links++; links > maxLinks {
			err = &fs.PathError{Op: "open", Path: full, Err: syscall.ELOOP}
			break
		}
		var target string
		if target, err = os.Readlink(s.path()); err != nil {
			break
		}
		if filepath.IsAbs(target) {
			w.at = rootOf(target)
			in, err = os.Lstat(w.at)
		}
		names = append(split(target), names...)
	}
	if err != nil {
		w.at, w.err = filepath.Join(append([]string{w.at}, names...)...), err
		return w
	}
	w.target = in
	return w
}

// missing reports whether the path can be followed, and nothing is at its end.
func (w way) missing() bool { return errors.Is(w.err, fs.ErrNotExist) }

// direct reports whether no symbolic link was followed.
func (w way) direct() bool {
	for _, s := range w.steps {
		if s.isLink() {
			return false
		}
	}
	return true
}

// Absolute gives the absolute form of a path. It keeps .., which counts where a
// symbolic link before it leads to.
func Absolute(path string) string {
	if !filepath.IsAbs(path) {
		here, err := filepath.Abs(".")
		if err != nil {
			return path
		}
		path = here + string(filepath.Separator) + path
	}
	if slices.Contains(split(path), "..") {
		return path
	}
	return filepath.Clean(path)
}

func rootOf(path string) string {
	return filepath.VolumeName(path) + string(filepath.Separator)
}

// split gives the names of a path.
func split(path string) []string {
	return strings.FieldsFunc(path[len(filepath.VolumeName(path)):], func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}
