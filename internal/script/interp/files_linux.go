package interp

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe whose ends block. Those of os.Pipe do not, and wake this
// process each time that a program fills or drains one.
func pipe() (r, w *file, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, &os.PathError{Op: "pipe", Path: "", Err: err}
	}
	return newFile(os.NewFile(uintptr(p[0]), "pipe")), newFile(os.NewFile(uintptr(p[1]), "pipe")), nil
}

// openDirectory opens a directory without reading it.
func openDirectory(at *directory, path string) (*os.File, error) {
	return openFile(at, path, unix.O_PATH|unix.O_DIRECTORY, 0)
}

// openFile opens a path as seen from a directory.
func openFile(at *directory, path string, flags int, mode uint32) (*os.File, error) {
	for {
		fd, err := unix.Openat(below(at), path, flags|unix.O_CLOEXEC, mode)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case unix.EINTR:
			continue
		}
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
}

func below(at *directory) int {
	if at == nil {
		return unix.AT_FDCWD
	}
	return int(at.file.Fd())
}

// stat says what a path leads to; of is a descriptor's number for /dev/fd/N.
func stat(at *directory, path string, follow bool) (*unix.Stat_t, error) {
	var st unix.Stat_t
	flags := 0
	if !follow {
		flags = unix.AT_SYMLINK_NOFOLLOW
	}
	if path == "" {
		return nil, fs.ErrNotExist
	}
	if err := unix.Fstatat(below(at), path, &st, flags); err != nil {
		return nil, err
	}
	return &st, nil
}

// permits reports whether this process may use a file in a way: 4 read, 2 write, 1 execute.
func permits(at *directory, path string, way uint32) bool {
	return path != "" && unix.Faccessat(below(at), path, way, unix.AT_EACCESS) == nil
}

// entries are the names in a directory, "." and ".." left out.
func entries(at *directory, path string) ([]fs.DirEntry, error) {
	f, err := openFile(at, path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.ReadDir(-1)
}

// readable waits until a file can be read; false: the time is up.
func readable(f *os.File, wait time.Duration) bool {
	until := time.Now().Add(wait)
	for {
		p := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(p, int(max(0, time.Until(until)).Milliseconds()))
		if err != unix.EINTR {
			return n != 0
		}
	}
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// seekBack gives back n bytes that were read too many; false: the file cannot.
func seekBack(f *os.File, n int) bool {
	_, err := unix.Seek(int(f.Fd()), int64(-n), unix.SEEK_CUR)
	return err == nil
}

func sameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// physical is the path of an open directory.
func physical(f *os.File) (string, error) {
	return os.Readlink(filepath.Join("/proc/self/fd", itoa(int64(f.Fd()))))
}
