//go:build linux

package guard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// restore puts an accepted content in the place of what is there, by one exchange of
// names where it can, and says where that is kept.
func (g *Guard) restore(it *item, dir int, name string, accepted, now content) (aside string, err error) {
	if accepted.form == directory && now.form == directory && accepted.names != nil {
		return g.restoreNames(it, dir, name, accepted, now)
	}
	if !accepted.whole() {
		return "", disarm(dir, name, accepted, now)
	}
	temp := ".tipstaff-" + strings.ToLower(rand.Text()[:12])
	if err := build(dir, temp, accepted); err != nil {
		return "", errors.Join(err, removeAll(dir, temp))
	}
	switch {
	case accepted.form == nothing:
		err = unix.Renameat(dir, name, dir, temp)
	default:
		if err = unix.Renameat2(dir, temp, dir, name, unix.RENAME_EXCHANGE); errors.Is(err, unix.ENOENT) {
			return "", renameNew(dir, temp, name) // nothing is there any more
		}
	}
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if errors.Is(err, unix.EINVAL) { // a file system that cannot exchange names
		return g.restoreByTurns(it, dir, temp, name)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("cannot put %s back: %w", name, err), removeAll(dir, temp))
	}
	return g.keep(it, dir, temp, name)
}

// restoreByTurns moves what is there away first, and the accepted content to its place.
func (g *Guard) restoreByTurns(it *item, dir int, temp, name string) (aside string, err error) {
	found := ".tipstaff-" + strings.ToLower(rand.Text()[:12])
	if err := unix.Renameat(dir, name, dir, found); err != nil && !errors.Is(err, unix.ENOENT) {
		return "", errors.Join(fmt.Errorf("cannot put %s back: %w", name, err), removeAll(dir, temp))
	}
	if err := unix.Renameat(dir, temp, dir, name); err != nil {
		return "", errors.Join(fmt.Errorf("cannot put %s back: %w", name, err), removeAll(dir, temp))
	}
	return g.keep(it, dir, found, name)
}

var errTooLarge = errors.New("what was there is too large to be kept, or could not be read")

// disarm takes the right to be run from a file that cannot be put back, and leaves it:
// it is a person's for the most part.
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

// prune removes the names in a directory that has too many of them, but for the
// accepted ones, and looks at it again. What is removed is not kept.
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

// openToRead opens a directory, if need be after its owner's rights were put right.
func openToRead(dir int, name string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err = unix.Openat(dir, name, flags, 0)
	if !errors.Is(err, unix.EACCES) {
		return fd, err
	}
	// There is no fchmodat that follows no link everywhere: by a descriptor then.
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

// restoreNames does the same for what is in a directory: the directory itself stays,
// and with it the mounts on it.
func (g *Guard) restoreNames(it *item, dir int, name string, accepted, now content) (aside string, err error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("cannot put %s back: %w", name, err)
	}
	defer func() { _ = unix.Close(fd) }()
	if now.names == nil {
		if now, err = prune(dir, name, accepted); err != nil {
			return "", fmt.Errorf("cannot put %s back: %w", name, err)
		}
	}
	var kept []string
	one := func(n string) {
		if now.names[n].same(accepted.names[n]) {
			return
		}
		at, failure := g.restore(it, fd, n, accepted.names[n], now.names[n])
		err = errors.Join(err, failure)
		if at != "" {
			kept = append(kept, at)
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
	return strings.Join(kept, ", "), err
}

// build makes a content under a temporary name.
func build(dir int, name string, c content) error {
	var err error
	switch c.form {
	case nothing:
		return nil
	case file:
		err = buildFile(dir, name, c)
	case link:
		err = unix.Symlinkat(c.to, dir, name)
		c.owner.give(dir, name)
	case directory:
		if err = unix.Mkdirat(dir, name, c.mode|0o700); err != nil {
			break
		}
		var fd int
		if fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
			break
		}
		for n, in := range c.names {
			err = errors.Join(err, build(fd, n, in))
		}
		c.owner.give(dir, name)
		_ = unix.Close(fd)
	default:
		err = errors.New("it was no file")
	}
	if err != nil {
		return fmt.Errorf("cannot make what was there: %w", err)
	}
	return nil
}

// give makes a file that was made anew its owner's again. Only root can, and only root
// needs to: anybody else puts back what is its own.
func (o owner) give(dir int, name string) {
	if os.Geteuid() == 0 {
		_ = unix.Fchownat(dir, name, int(o.user), int(o.group), unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
	}
}

// buildFile makes a file that has no name while it is written, where the file system
// has such files.
func buildFile(dir int, name string, c content) error {
	if !c.known() {
		return errTooLarge
	}
	mode := c.mode
	fd, err := unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	named := err != nil
	if named {
		fd, err = unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(c.text)
	c.owner.give(fd, "")
	err = errors.Join(err, unix.Fchmod(fd, mode))
	if err == nil && !named {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), dir, name, unix.AT_SYMLINK_FOLLOW)
	}
	return errors.Join(err, f.Close())
}

// keep moves what was found to the directory for that, and says where it is.
func (g *Guard) keep(it *item, dir int, temp, name string) (string, error) {
	found := readAt(dir, temp, 0)
	to, err := g.keepCopy(it, name, found)
	if err := errors.Join(err, removeAll(dir, temp)); err != nil {
		return to, fmt.Errorf("cannot keep what was found: %w", err)
	}
	return to, nil
}

// mostKept is how many copies are kept of what a command writes to one item again and
// again.
const mostKept = 64

// keepCopy writes what was found to the directory for that. What is too large or is no
// file is not copied: the report says what it was.
func (g *Guard) keepCopy(it *item, name string, found content) (string, error) {
	if found.form == nothing || !found.whole() || it.kept >= mostKept {
		return "", nil
	}
	it.kept++
	if err := os.MkdirAll(g.o.Aside, 0o700); err != nil {
		return "", err
	}
	aside, err := openDir(g.o.Aside)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(aside) }()
	to := strings.TrimPrefix(name, ".") + "-" + strings.ToLower(rand.Text()[:8])
	if found.form == file {
		found.mode &= 0o666 // it is to be read, not run
	}
	if err := build(aside, to, found); err != nil {
		return "", err
	}
	return filepath.Join(g.o.Aside, to), nil
}

// mostOpen is how deep a tree is gone down into with a descriptor open at each step.
const mostOpen = 16

// removeAll removes a name with what is in it, and follows no link. What lies deeper
// than mostOpen is moved up first, and removed then: a command may have made a tree of
// any depth.
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

// mostRemovals is how often a directory is emptied that a command goes on to fill.
const mostRemovals = 8

// Copy fills a directory with what is in another one. It fails where that is too
// large to be kept.
func Copy(from, to string) error {
	c := read(from, 0)
	if c.form != directory || !c.whole() {
		return fmt.Errorf("cannot copy %s: it is %s, or too large", from, c)
	}
	fd, err := openDir(to)
	if err != nil {
		return fmt.Errorf("cannot copy %s: %w", from, err)
	}
	defer func() { _ = unix.Close(fd) }()
	for name, in := range c.names {
		if err := build(fd, name, in); err != nil {
			return fmt.Errorf("cannot copy %s: %w", from, err)
		}
	}
	return nil
}

// Differs gives the names in two directories, of at most the size that is kept, whose
// content is not the same.
func Differs(a, b string) (names []string) {
	x, y := read(a, 0), read(b, 0)
	for name := range x.names {
		if !x.names[name].same(y.names[name]) {
			names = append(names, name)
		}
	}
	for name := range y.names {
		if _, both := x.names[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ReadSmall reads a regular file of at most a megabyte. It follows no link, and waits
// for no writer.
func ReadSmall(path string) ([]byte, error) {
	c := read(path, 0)
	if c.form != file || !c.whole() {
		return nil, fmt.Errorf("cannot read %s: there is %s", path, c)
	}
	return c.text, nil
}
