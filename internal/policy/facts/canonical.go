package facts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tipstaff/internal/policy"
)

// maxMissing bounds how many elements at the end of a path may be missing.
const maxMissing = 256

var errTooDeep = errors.New("too much of the path does not exist")

// Canonical resolves the symbolic links of a path. Elements at its end that do
// not exist are kept as written, except "..", which cannot be resolved there.
func (h *Host) Canonical(path string, dir policy.Directory) (string, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return "", fs.ErrInvalid
	}
	if !filepath.IsAbs(path) {
		if dir == nil {
			return "", fs.ErrInvalid
		}
		path = dir.Path() + "/" + path // not cleaned: ".." after a link is significant
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
			return "", err // a dangling link: writing through it creates its target
		}
		at, rest = parent, filepath.Join(last, rest)
	}
}

func isLink(path string) bool {
	info, err := os.Lstat(strings.TrimRight(path, "/"))
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
