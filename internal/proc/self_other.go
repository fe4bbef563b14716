//go:build !linux

package proc

import (
	"errors"
	"os"
)

// Self fails: programs start by their paths on this system.
func Self() (*os.File, error) {
	return nil, errors.New("a program cannot be started from its open file on this system")
}
