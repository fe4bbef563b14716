//go:build linux

package proc

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Self opens the file of this program, for [Launch.File]. It is the file that runs,
// even if another file has its path by now.
func Self() (*os.File, error) {
	const link = "/proc/self/exe"
	fd, err := unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0)
	if _, missing := os.Stat("/proc/self"); missing != nil {
		return nil, errNoProc
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the program's own file: %w", err)
	}
	return os.NewFile(uintptr(fd), link), nil
}
