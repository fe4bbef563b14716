//go:build unix

package audit

import (
	"errors"
	"io"
	"os"
	"time"

	"tipstaff/internal/flock"
)

// lockKeeper takes a lock that ends with its process.
func lockKeeper(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock.Try(f); err != nil {
		_ = f.Close()
		if errors.Is(err, flock.ErrLocked) {
			err = ErrBusy
		}
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // says when it was; nothing depends on it
	return f, nil
}

// claim says until the end of the process that the trail is being written. A trail
// whose server could not say so is taken for one that lives until it is closed.
func claim(marks file) {
	if f, ok := marks.(descriptor); ok {
		_ = flock.Try(f.descriptor())
	}
}

// claimed reports whether a living process writes a trail, by its checkpoints.
func claimed(path string) bool {
	f, err := OpenRegular(path)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = f.Close() }()
	return flock.Try(f) != nil
}
