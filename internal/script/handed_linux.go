package script

import (
	"os"

	"golang.org/x/sys/unix"
)

// writable reports whether a regular file was opened for writing. What cannot be
// found out counts as writable.
func writable(f *os.File) bool {
	st, err := f.Stat()
	if err != nil {
		return true
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return st.Mode().IsRegular() && (err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY)
}

// dup copies a descriptor.
func dup(fd uintptr) (*os.File, error) {
	c, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(c), "directory"), nil
}
