package protected

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// resolution records how a path was followed: every name that was looked up, in order,
// and what the path leads to.
type resolution struct {
	steps []step
	// path is the canonical path of the result; if the end of the path does not
	// exist, it is where it would be created.
	path   string
	target fs.FileInfo // nil: nothing exists there
	err    error       // why the path cannot be followed to its end
}

// step is a name that was looked up in a directory.
type step struct {
	dir     string // canonical
	dirInfo fs.FileInfo
	name    string
	info    fs.FileInfo // nil: the name does not exist
}

func (s step) path() string { return filepath.Join(s.dir, s.name) }

func (s step) isLink() bool { return s.info != nil && s.info.Mode()&fs.ModeSymlink != 0 }

// maxLinks is the number of symbolic links that the kernel follows for one
// path.
const maxLinks = 40

// resolve follows an absolute path as the kernel does.
func resolve(full string) resolution {
	w := resolution{path: rootOf(full)}
	names := split(full)
	in, err := os.Lstat(w.path)
	for links := 0; err == nil && len(names) > 0; {
		if !in.IsDir() {
			err = &fs.PathError{Op: "open", Path: w.path, Err: syscall.ENOTDIR}
			break
		}
		s := step{dir: w.path, dirInfo: in, name: names[0]}
		s.info, err = os.Lstat(s.path()) // also for "..": dir contains no links
		w.steps = append(w.steps, s)
		if err != nil {
			break
		}
		names = names[1:]
		if !s.isLink() {
			w.path, in = s.path(), s.info
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
			w.path = rootOf(target)
			in, err = os.Lstat(w.path)
		}
		names = append(split(target), names...)
	}
	if err != nil {
		w.path, w.err = filepath.Join(append([]string{w.path}, names...)...), err
		return w
	}
	w.target = in
	return w
}

// missing reports whether the path can be followed, but does not exist.
func (w resolution) missing() bool { return errors.Is(w.err, fs.ErrNotExist) }

// direct reports whether no symbolic link was followed.
func (w resolution) direct() bool {
	for _, s := range w.steps {
		if s.isLink() {
			return false
		}
	}
	return true
}

// Absolute returns the absolute form of a path. It keeps "..", because its
// meaning depends on symbolic links before it.
func Absolute(path string) string {
	if !filepath.IsAbs(path) {
		workingDir, err := filepath.Abs(".")
		if err != nil {
			return path
		}
		path = workingDir + string(filepath.Separator) + path
	}
	if slices.Contains(split(path), "..") {
		return path
	}
	return filepath.Clean(path)
}

func rootOf(path string) string {
	return filepath.VolumeName(path) + string(filepath.Separator)
}

// split returns the elements of a path.
func split(path string) []string {
	return strings.FieldsFunc(path[len(filepath.VolumeName(path)):], func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}
