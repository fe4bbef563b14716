//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// ballast is room that is kept on the disk of the temporary files, for the directories
// of the next session sandboxes: on a full disk, the command that makes room again may
// be of a session that has none yet. What fills the disk can be faster in taking it.
type ballast struct {
	path string
	mu   sync.Mutex
	full bool
}

const (
	ballastBytes = 512 << 10 // a session sandbox takes about a fifth of that
	// ballastShare: there is a ballast only on a disk with so many times as much room.
	ballastShare = 16
)

// room makes something on the disk, once more where it is full, and puts the ballast
// back when there is room again. What fails must leave nothing in the way.
func (b *ballast) room(make func() error) error {
	err := make()
	if errors.Is(err, unix.ENOSPC) {
		b.shed() // or another session has, just now
		err = make()
		if free, ok := freeOn(filepath.Dir(b.path)); err != nil && ok && free < ballastBytes {
			err = fmt.Errorf("%w: %w", ErrFull, err)
		}
		return err
	}
	if err == nil {
		b.load()
	}
	return err
}

// load makes the ballast if it is not there and the disk has room enough.
func (b *ballast) load() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full {
		return
	}
	if free, ok := freeOn(filepath.Dir(b.path)); !ok || free < ballastShare*ballastBytes {
		return
	}
	f, err := os.OpenFile(b.path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	b.full = unix.Fallocate(int(f.Fd()), 0, 0, ballastBytes) == nil
}

// shed gives the room back to the disk.
func (b *ballast) shed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full = false
	_ = os.Remove(b.path)
}
