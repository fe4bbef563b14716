//go:build linux

package guard

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// build writes a content to a temporary name. If blank is a descriptor and the
// content is a regular file, build uses it; it closes blank in any case.
func build(dir int, name string, c content, blank int) error {
	var err error
	if c.form == file {
		err = buildFile(dir, name, c, blank)
	} else {
		_ = closed(blank)
	}
	switch c.form {
	case nothing:
		return nil
	case file:
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
			err = errors.Join(err, build(fd, n, in, noBlank))
		}
		c.owner.give(dir, name)
		_ = unix.Close(fd)
	default:
		err = errors.New("it was neither a file, a link nor a directory")
	}
	if err != nil {
		return fmt.Errorf("cannot restore the content: %w", err)
	}
	return nil
}

// give restores the owner of a file that was made again. Only root can do that,
// and only root needs to: any other user restores files that it owns.
func (o owner) give(dir int, name string) {
	if os.Geteuid() == 0 {
		_ = unix.Fchownat(dir, name, int(o.user), int(o.group), unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
	}
}

// noBlank tells build to create the file itself.
const noBlank = -1

// buildFile writes a file that has no name until it is complete, if the file
// system supports that. It uses the blank if there is one.
func buildFile(dir int, name string, c content, blank int) error {
	if !c.known() {
		return errors.Join(errTooLarge, closed(blank))
	}
	if blank >= 0 && fill(blank, dir, name, c, true) == nil {
		return nil
	}
	fd, err := unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, c.mode)
	unnamed := err == nil
	if !unnamed {
		fd, err = unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, c.mode)
	}
	if err != nil {
		return err
	}
	return fill(fd, dir, name, c, unnamed)
}

// fill writes a content to an open file, names the file if it is unnamed, and
// closes it.
func fill(fd, dir int, name string, c content, unnamed bool) error {
	f := os.NewFile(uintptr(fd), name)
	_, err := f.Write(c.text)
	c.owner.give(fd, "")
	err = errors.Join(err, unix.Fchmod(fd, c.mode))
	if err == nil && unnamed {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), dir, name, unix.AT_SYMLINK_FOLLOW)
	}
	return errors.Join(err, f.Close())
}

// closed closes fd unless it is -1.
func closed(fd int) error {
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}
