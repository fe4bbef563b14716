//go:build !linux

package facts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tipstaff/internal/plainfile"
	"tipstaff/internal/policy"
)

// openDirectory opens a directory. It resolves the path first, and then compares
// both, because a directory that was exchanged in between would be entered
// under its new name.
func openDirectory(path string) (policy.Directory, error) {
	f, err := plainfile.OpenDir(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, policy.ErrNotEnterable
	}
	if err != nil {
		return nil, policy.ErrNotFound
	}
	d, err := newDirectory(f, path)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return d, nil
}

type directory struct {
	*os.File
	path string
}

// newDirectory returns an open directory with its canonical path. The path is
// resolved by name, because these systems do not tell it by descriptor, so it
// is compared with what is open: a link that was changed meanwhile makes it
// fail.
func newDirectory(f *os.File, path string) (*directory, error) {
	open, err := f.Stat()
	if err != nil {
		return nil, policy.ErrNotFound
	}
	if !open.IsDir() {
		return nil, policy.ErrNotDirectory
	}
	canonical, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, policy.ErrNotFound
	}
	if canonical, err = filepath.Abs(canonical); err != nil {
		return nil, policy.ErrNotFound
	}
	named, err := os.Stat(canonical)
	if err != nil || !os.SameFile(open, named) {
		return nil, policy.ErrNotFound
	}
	return &directory{File: f, path: canonical}, nil
}

// Path returns the canonical path, as it was when the directory was opened.
func (d *directory) Path() string { return d.path }
