package facts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tipstaff/internal/paths"
	"tipstaff/internal/policy"
)

// SearchPath is a list of trusted directories, in order of precedence.
type SearchPath []string

// Trusted returns the directories of a PATH that only the operator can fill:
// absolute, existing, and not world-writable. A relative entry would depend on
// the directory of the command; an entry that does not exist could be created
// by a command.
func Trusted(path string) SearchPath {
	var s SearchPath
	seen := map[string]bool{}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		info, err := os.Stat(dir)
		if seen[dir] || err != nil || !info.IsDir() || info.Mode().Perm()&0o002 != 0 {
			continue
		}
		seen[dir] = true
		s = append(s, dir)
	}
	return s
}

// String returns the list as the value of a PATH variable.
func (s SearchPath) String() string { return strings.Join(s, string(filepath.ListSeparator)) }

// Outside returns the list without directories that are in one of the canonical
// roots, and without those that cannot be resolved.
func (s SearchPath) Outside(roots []string) SearchPath {
	var out SearchPath
	for _, dir := range s {
		if canonical, err := filepath.EvalSymlinks(dir); err == nil && !paths.Within(canonical, roots...) {
			out = append(out, dir)
		}
	}
	return out
}

// Find returns the path of a program by its bare name.
func (s SearchPath) Find(name string) (string, error) {
	p, err := s.find(name)
	return p.Path, err
}

// find searches for a bare name as execvp(3) does: a file that cannot be
// executed does not end the search.
func (s SearchPath) find(name string) (policy.Program, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/') || strings.ContainsRune(name, 0) {
		return policy.Program{}, policy.ErrNotFound
	}
	failure := error(policy.ErrNotFound)
	for _, dir := range s {
		path := filepath.Join(dir, name)
		id, err := executable(path)
		if err == nil {
			return policy.Program{Path: path, File: id}, nil
		}
		if errors.Is(err, policy.ErrNotExecutable) {
			failure = err
		}
	}
	return policy.Program{}, failure
}

func absolute(path string, dir policy.Directory) string {
	if filepath.IsAbs(path) || dir == nil {
		return path
	}
	return filepath.Join(dir.Path(), path)
}
