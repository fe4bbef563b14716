//go:build unix

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// Width reports whether f is a terminal, and how many columns it has; 0
// if unknown.
func Width(f *os.File) (columns int, terminal bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
