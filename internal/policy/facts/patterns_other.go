//go:build !linux

package facts

import (
	"os"
	"path/filepath"

	"tipstaff/internal/policy"
)

const directoryOnly = 0

func openRoot(dir policy.Directory) (*os.Root, error) { return os.OpenRoot(dir.Path()) }

// pathOf resolves the path of a directory once more, because there is no way to
// ask an open one.
func pathOf(_ *os.File, base, name string) (string, error) {
	return filepath.EvalSymlinks(filepath.Join(base, name))
}
