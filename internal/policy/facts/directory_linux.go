package facts

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"tipstaff/internal/policy"
)

// openDirectory opens a directory. Its path is what the kernel reports for the open
// descriptor, so the directory that is checked is the one that is entered.
func openDirectory(path string) (policy.Directory, error) {
	if path == "" {
		return nil, policy.ErrNotFound
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
	case errors.Is(err, unix.ENOTDIR):
		return nil, policy.ErrNotDirectory
	case errors.Is(err, unix.EACCES):
		return nil, policy.ErrNotEnterable
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM):
		return nil, policy.ErrExhausted
	default:
		return nil, policy.ErrNotFound
	}
	d, err := newDirectory(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return d, nil
}

type directory struct {
	path string
	fd   int
}

func newDirectory(fd int) (*directory, error) {
	if unix.Faccessat(fd, ".", unix.X_OK, 0) != nil {
		return nil, policy.ErrNotEnterable
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Nlink == 0 {
		return nil, policy.ErrNotFound // removed, but still open
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return nil, policy.ErrNotFound
	}
	return &directory{path: path, fd: fd}, nil
}

// Path returns the canonical path, as it was when the directory was opened.
func (d *directory) Path() string { return d.path }

// Fd returns the descriptor, which is valid until Close.
func (d *directory) Fd() uintptr { return uintptr(d.fd) }

// Close closes the directory.
func (d *directory) Close() error { return unix.Close(d.fd) }
