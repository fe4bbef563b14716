//go:build unix

package audit

import (
	"os"
	"syscall"
)

// openWithoutWaiting opens a file for reading. It does not wait for the other end
// of a pipe.
func openWithoutWaiting(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
