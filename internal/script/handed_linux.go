package script

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

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

// statOf says which file a descriptor is.
func statOf(fd int) (fs.FileInfo, error) {
	c, err := dup(uintptr(fd))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Stat()
}

// kindOf says what a descriptor is.
func kindOf(f *os.File) inputKind {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return ofOther
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFREG:
		return ofFile
	case st.Mode&unix.S_IFMT == unix.S_IFIFO:
		return ofPipe
	case st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3):
		return ofNothing
	}
	return ofOther
}

var (
	errLong = errors.New("it is too long")
	errSlow = errors.New("it does not end in time")
)

// restOf returns what is left to read of a file, and leaves its offset: others may
// share it.
func restOf(f *os.File, most int64) ([]byte, error) {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, at, most+1))
	if err == nil && int64(len(text)) > most {
		err = errLong
	}
	return text, err
}

// documentPatience bounds the time in which a here-document has to be written.
const documentPatience = 5 * time.Second

// readWhole reads a pipe to its end.
func readWhole(f *os.File, most int) (text []byte, err error) {
	fd, part := int(f.Fd()), make([]byte, 4096)
	for limit := time.Now().Add(documentPatience); ; {
		left := time.Until(limit).Milliseconds()
		if left <= 0 {
			return nil, errSlow
		}
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left))
		if ready == 0 && err == nil || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		n, err := unix.Read(fd, part)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return text, nil
		}
		if text = append(text, part[:n]...); len(text) > most {
			return nil, errLong
		}
	}
}

// sealed returns an open file with this text, which nobody can change.
func sealed(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "input")
	_, err = f.Write(text)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
