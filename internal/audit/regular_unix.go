//go:build unix

package audit

import (
	"os"
	"syscall"
)

// openWithoutWaiting opens a file. It does not wait for the other end
// of a pipe.
func openWithoutWaiting(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
