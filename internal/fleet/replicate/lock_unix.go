//go:build unix

package replicate

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// errBusy: a living process has the lock.
var errBusy = errors.New("another process copies this trail")

// lock locks a file until it is closed, at the latest by the end of the process.
func lock(f *os.File) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errBusy
		default:
			return err
		}
	}
}

// adopts says whether trails of processes that have ended can be recognized.
const adopts = true

// create makes a state file without a name that others would look for, so that it
// can be locked before.
func create(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
}

// publish gives a file its name.
func publish(f *os.File, path string) error { return os.Rename(f.Name(), path) }
