package profile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tipstaff/internal/paths"
)

// below reports whether path lies below dir.
func below(path, dir string) bool { return path != dir && paths.Within(path, dir) }

// byPath orders paths so that what lies below a directory follows it at once.
func byPath(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// sorted orders paths, each once.
func sorted(list []string) []string {
	slices.SortFunc(list, byPath)
	return slices.Compact(list)
}

// outermost keeps the paths that lie below no other.
func outermost(list []string) []string {
	var kept []string
	for _, p := range sorted(slices.Clone(list)) {
		if len(kept) == 0 || !paths.Within(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	return kept
}

// around returns the first of dirs that is path or contains it.
func around(path string, dirs []string) (string, bool) {
	i := slices.IndexFunc(dirs, func(d string) bool { return paths.Within(path, d) })
	if i < 0 {
		return "", false
	}
	return dirs[i], true
}

// anyWithin reports whether one of the sorted paths is dir or lies below it.
func anyWithin(dir string, list []string) bool {
	i, found := slices.BinarySearchFunc(list, dir, byPath)
	return found || i < len(list) && below(list[i], dir)
}

// canonical resolves all links of path and returns what is there.
func canonical(path string) (string, fs.FileInfo, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Lstat(real)
	if err != nil {
		return "", nil, err
	}
	return real, info, nil
}

// existing returns the canonical form of the part of path that exists, and the rest,
// which does not; "" if all of it exists.
func existing(path string) (dir, rest string) {
	for path = filepath.Clean(path); ; {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real, rest
		}
		up := filepath.Dir(path)
		if up == path {
			return path, rest
		}
		path, rest = up, filepath.Join(filepath.Base(path), rest)
	}
}

// first returns the first element of a relative path.
func first(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

// opens reports whether the server may read a directory or regular file.
func opens(path string) bool {
	f, err := openPlain(path)
	if err != nil {
		return !errors.Is(err, fs.ErrPermission)
	}
	_ = f.Close()
	return true
}

// isPattern reports whether a name is a pattern for several.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }
