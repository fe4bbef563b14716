package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tipstaff/internal/policy"
)

// maxMissing bounds how many parts at the end of a path may not exist.
const maxMissing = 256

var errTooDeep = errors.New("too much of the path does not exist")

// Canonical follows the symbolic links of a path. What does not exist yet at
// its end is kept as it is written, but for .. in it, which nobody can follow.
func (h *Host) Canonical(path string, dir policy.Directory) (string, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return "", fs.ErrInvalid
	}
	if !filepath.IsAbs(path) {
		if dir == nil {
			return "", fs.ErrInvalid
		}
		path = dir.Path() + "/" + path // not cleaned: .. counts behind a link
	}
	rest := ""
	for at, n := path, 0; ; n++ {
		got, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(got, rest), nil
		}
		parent, last := filepath.Split(strings.TrimRight(at, "/"))
		switch {
		case !errors.Is(err, fs.ErrNotExist), parent == "", parent == at, last == "..":
			return "", err
		case n == maxMissing:
			return "", errTooDeep
		}
		if isLink(at) {
			return "", err // it dangles: who writes through it writes elsewhere
		}
		at, rest = parent, filepath.Join(last, rest)
	}
}

func isLink(path string) bool {
	info, err := os.Lstat(strings.TrimRight(path, "/"))
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
