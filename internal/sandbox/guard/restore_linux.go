//go:build linux

package guard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// put is an item that is being put back. What was moved away is kept aside only
// afterwards, because restoring the item is more urgent.
type put struct {
	blank int // an empty file for the first content, or -1; see [blanks]
	moved []moved
}

// takeBlank returns the blank, once; after that -1.
func (p *put) takeBlank() (fd int) {
	fd, p.blank = p.blank, -1
	return fd
}

type moved struct {
	dir  *os.File // the directory that it lies in now
	temp string
	name string // its name before
}

// away records content that was moved to a temporary name.
func (p *put) away(dir int, temp, name string) error {
	fd, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot keep the content that was found: %w", err)
	}
	p.moved = append(p.moved, moved{os.NewFile(uintptr(fd), name), temp, name})
	return nil
}

// restore replaces what is there by the accepted content, by exchanging the two
// names if the file system can do that.
func restore(p *put, dir int, name string, accepted, now content) error {
	if accepted.form == directory && now.form == directory && accepted.names != nil {
		return restoreNames(p, dir, name, accepted, now)
	}
	if !accepted.whole() {
		return disarm(dir, name, accepted, now)
	}
	temp := ".tipstaff-" + strings.ToLower(rand.Text()[:12])
	err := build(dir, temp, accepted, p.takeBlank())
	if err != nil {
		return errors.Join(err, removeAll(dir, temp))
	}
	switch {
	case accepted.form == nothing:
		err = unix.Renameat(dir, name, dir, temp)
	default:
		if err = unix.Renameat2(dir, temp, dir, name, unix.RENAME_EXCHANGE); errors.Is(err, unix.ENOENT) {
			return renameNew(dir, temp, name) // the name no longer exists
		}
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if errors.Is(err, unix.EINVAL) { // the file system cannot exchange names
		return restoreByTurns(p, staged{dir, temp}, dir, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot put %s back: %w", name, err), removeAll(dir, temp))
	}
	return p.away(dir, temp, name)
}

// restoreByTurns moves the present file away, then the new one into place.
func restoreByTurns(p *put, from staged, dir int, name string) error {
	found := ".tipstaff-" + strings.ToLower(rand.Text()[:12])
	err := unix.Renameat(dir, name, dir, found)
	there := err == nil
	if there || errors.Is(err, unix.ENOENT) {
		err = unix.Renameat(from.dir, from.name, dir, name)
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("cannot put %s back: %w", name, err), removeAll(from.dir, from.name))
	}
	if there {
		err = errors.Join(err, p.away(dir, found, name))
	}
	return err
}

var errTooLarge = errors.New("the earlier content is too large to be kept, or could not be read")

// disarm removes the execute permission of a file that cannot be put back. It
// does not remove the file, which is a person's in most cases.
func disarm(dir int, name string, accepted, now content) error {
	if accepted.form != file || now.form != file || now.mode&0o111 == 0 {
		return errTooLarge
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return errors.Join(errTooLarge, err)
	}
	defer func() { _ = unix.Close(fd) }()
	if _, id, err := stat(fd, "", unix.AT_EMPTY_PATH); err != nil || id != now.id {
		return errors.Join(errTooLarge, err)
	}
	return errors.Join(errTooLarge, unix.Fchmod(fd, now.mode&^0o111))
}

// prune removes all names but the accepted ones from a directory that has too
// many of them, and reads it again. What it removes is not kept.
func prune(dir int, name string, accepted content) (now content, err error) {
	fd, err := openToRead(dir, name)
	if err != nil {
		return now, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	for _, n := range names {
		if _, known := accepted.names[n]; !known {
			err = errors.Join(err, removeAll(fd, n))
		}
	}
	now = readAt(dir, name, 0)
	if err == nil && now.names == nil {
		err = errTooLarge
	}
	return now, err
}

// openToRead opens a directory, and first restores its owner's rights if it
// must.
func openToRead(dir int, name string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err = unix.Openat(dir, name, flags, 0)
	if !errors.Is(err, unix.EACCES) {
		return fd, err
	}
	// Not every kernel has an fchmodat that follows no link, so use a
	// descriptor.
	at, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(at) }()
	if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", at), 0o700); err != nil {
		return -1, err
	}
	return unix.Openat(dir, name, flags, 0)
}

func renameNew(dir int, temp, name string) error {
	if err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_NOREPLACE); err != nil {
		return errors.Join(fmt.Errorf("cannot put %s back: %w", name, err), removeAll(dir, temp))
	}
	return nil
}

// restoreNames does the same for the content of a directory. The directory
// itself stays, and with it the mounts on it.
func restoreNames(p *put, dir int, name string, accepted, now content) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot put %s back: %w", name, err)
	}
	defer func() { _ = unix.Close(fd) }()
	if now.names == nil {
		if now, err = prune(dir, name, accepted); err != nil {
			return fmt.Errorf("cannot put %s back: %w", name, err)
		}
	}
	one := func(n string) {
		if !now.names[n].same(accepted.names[n]) {
			err = errors.Join(err, restore(p, fd, n, accepted.names[n], now.names[n]))
		}
	}
	for n := range now.names {
		one(n)
	}
	for n := range accepted.names {
		if _, there := now.names[n]; !there {
			one(n)
		}
	}
	return err
}
