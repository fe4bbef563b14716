//go:build !unix

package proc

import (
	"errors"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// dirPath refuses: without a way to enter an open directory, the program would
// start in a place that nobody has checked.
func dirPath(uintptr) (string, error) {
	return "", errors.New("this system cannot start a program in an open directory")
}
