//go:build !unix

package proc

import (
	"errors"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// dirPath fails: without a way to enter an open directory, the program could
// start in a directory that was never checked.
func dirPath(uintptr) (string, error) {
	return "", errors.New("this system cannot start a program in an open directory")
}
