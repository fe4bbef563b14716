//go:build unix

package ship

import (
	"errors"
	"os"
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
