//go:build unix

package replicate

import (
	"errors"
	"os"
	"path/filepath"

	"tipstaff/internal/flock"
)

// lock locks a file until it is closed, at the latest by the end of the process.
func lock(f *os.File) error {
	err := flock.Try(f)
	if errors.Is(err, flock.ErrLocked) {
		return errBusy
	}
	return err
}

// adopts says whether trails of processes that have ended can be recognized.
const adopts = true

// create makes a state file without a name that others would look for, so that it
// can be locked before. It is no atomicfile: the lock is of the open file, and what the
// file says is a hint.
func create(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
}

// publish gives a file its name.
func publish(f *os.File, path string) error { return os.Rename(f.Name(), path) }
