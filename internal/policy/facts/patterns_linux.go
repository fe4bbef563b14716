package facts

import (
	"os"
	"strconv"
	"syscall"

	"tipstaff/internal/policy"
)

const directoryOnly = syscall.O_DIRECTORY

// openRoot opens the directory that the command will enter, by its descriptor.
func openRoot(dir policy.Directory) (*os.Root, error) {
	return os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())))
}

// pathOf returns the canonical path of an open directory.
func pathOf(dir *os.File, _, _ string) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())))
}
