package facts

import (
	"io/fs"
	"path/filepath"
	"strings"

	"tipstaff/internal/plainfile"
	"tipstaff/internal/policy"
)

// Seen is the machine as the commands of one session see it. Only questions about
// paths that callers name have other answers than those of the Host: bare names are
// searched in directories of the operator.
type Seen struct {
	*Host
	View policy.View
}

// File returns the program at path in the view.
func (s Seen) File(path string, dir policy.Directory) (policy.Program, error) {
	path = absolute(path, dir)
	_, file, err := s.View.Follow(path)
	if err != nil {
		return policy.Program{}, policy.ErrNotFound
	}
	id, err := executable(file)
	if err != nil {
		return policy.Program{}, err
	}
	return policy.Program{Path: path, File: id}, nil
}

// Canonical is [Host.Canonical] in the view.
func (s Seen) Canonical(path string, dir policy.Directory) (string, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 || !filepath.IsAbs(path) && dir == nil {
		return "", fs.ErrInvalid
	}
	if !filepath.IsAbs(path) {
		path = dir.Path() + "/" + path // not cleaned: ".." after a link is significant
	}
	real, _, err := s.View.Follow(path)
	return real, err
}

// ReadFile is [Host.ReadFile] in the view.
func (s Seen) ReadFile(path string, most int64) ([]byte, error) {
	_, file, err := s.View.Follow(path)
	if err != nil {
		return nil, err
	}
	return plainfile.Read(file, most)
}
