//go:build linux

package guard

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mostOpen bounds the descriptors that are open while a tree is removed.
const mostOpen = 16

// removeAll removes a name and everything in it. It follows no symbolic link.
// Directories deeper than mostOpen are moved up and removed then, because a
// command may have made a tree of any depth.
func removeAll(dir int, name string) error {
	var err error
	for left := []string{name}; len(left) > 0 && err == nil; left = left[1:] {
		var lifted []string
		lift := func(from int, name string) error {
			to := ".tipstaff-" + strings.ToLower(rand.Text()[:12])
			err := unix.Renameat2(from, name, dir, to, unix.RENAME_NOREPLACE)
			if err == nil {
				lifted = append(lifted, to)
			}
			return err
		}
		err = removeTree(dir, left[0], mostOpen, lift)
		left = append(left, lifted...)
	}
	return err
}

func removeTree(dir int, name string, depth int, lift func(from int, name string) error) error {
	err := unix.Unlinkat(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return err
	}
	if depth == 0 {
		return lift(dir, name)
	}
	fd, err := openToRead(dir, name)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	for range mostRemovals {
		_, err = f.Seek(0, io.SeekStart)
		names, failure := f.Readdirnames(-1)
		err = errors.Join(err, failure)
		for _, n := range names {
			err = errors.Join(err, removeTree(fd, n, depth-1, lift))
		}
		if err != nil {
			return err
		}
		if err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
	return err
}

// mostRemovals is how often a directory is emptied while a command keeps adding
// to it.
const mostRemovals = 8
