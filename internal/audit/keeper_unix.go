//go:build unix

package audit

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// lockKeeper takes a lock that ends with its process.
func lockKeeper(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // says when it was; nothing depends on it
	return f, nil
}

// flock locks a file until it is closed.
func flock(f *os.File) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrBusy
		default:
			return err
		}
	}
}

// claim says until the end of the process that the trail is being written. A trail
// whose server could not say so is taken for one that lives until it is closed.
func claim(marks file) {
	if f, ok := marks.(descriptor); ok {
		_ = flock(f.descriptor())
	}
}

// claimed reports whether a living process writes a trail, by its checkpoints.
func claimed(path string) bool {
	f, err := OpenRegular(path)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = f.Close() }()
	return flock(f) != nil
}
