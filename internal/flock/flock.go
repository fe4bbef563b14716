package flock

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrLocked is returned by [Try] and [TryDir] while somebody else has the lock.
var ErrLocked = errors.New("another process has the lock")

// The pauses between the attempts of [Lock].
const (
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// Try locks a file that nobody else has locked.
func Try(f *os.File) error { return try(f) }

// Lock locks a file as soon as nobody else has locked it. It returns the cause of the
// context's end if that comes first. Those who wait get no turns.
func Lock(ctx context.Context, f *os.File) error {
	// The system could wait as well, but then a context could not end it.
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := try(f); !errors.Is(err, ErrLocked) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// TryDir opens a directory and locks it as [Try] does. The last part of the path may be
// no link. The caller closes the directory, which ends the lock.
func TryDir(path string) (*os.File, error) { return lockDir(path, Try) }

// LockDir opens a directory and locks it as [Lock] does. See [TryDir].
func LockDir(ctx context.Context, path string) (*os.File, error) {
	return lockDir(path, func(f *os.File) error { return Lock(ctx, f) })
}

func lockDir(path string, lock func(*os.File) error) (*os.File, error) {
	f, err := openDir(path)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}
