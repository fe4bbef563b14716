//go:build !linux

package landlock

import (
	"errors"
	"fmt"
	"runtime"
)

// Only Linux has Landlock. Without a version, New fails, and the other
// functions are never called.

func version() (int, error) {
	return 0, fmt.Errorf("%s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func create(Effective) (int, error) { return -1, errors.ErrUnsupported }

func openPath(string) (int, error) { return -1, errors.ErrUnsupported }

func isDirectory(int) (bool, error) { return false, errors.ErrUnsupported }

func addRule(int, int, Access) error { return errors.ErrUnsupported }

func closeFD(int) error { return errors.ErrUnsupported }
