package landlock

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func version() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
		return int(abi), nil
	case unix.ENOSYS:
		return 0, fmt.Errorf("the kernel was built without it, or a system call filter hides it: %w", errno)
	case unix.EOPNOTSUPP:
		return 0, fmt.Errorf("the kernel has it, and did not switch it on at boot (lsm=): %w", errno)
	}
	return 0, fmt.Errorf("unexpected error of the kernel: %w", errno)
}

// rulesetAttr is struct landlock_ruleset_attr. A kernel that has a shorter
// struct accepts this one if the fields that it does not know are zero.
type rulesetAttr struct {
	files, net, scoped uint64
}

// create makes a ruleset that handles what e says. What is not handled here is
// allowed to everyone in the domain, so e holds every right that the kernel
// knows and the options ask for.
func create(e Effective) (int, error) {
	attr := rulesetAttr{files: uint64(e.Files)}
	if e.TCP {
		attr.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if e.Scope {
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	// The kernel opens the descriptor with close-on-exec.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// pathBeneath is struct landlock_path_beneath_attr, which is packed: it lacks
// the padding at the end of this one.
type pathBeneath struct {
	allowed uint64
	parent  int32
}

func addRule(ruleset, fd int, a Access) error {
	attr := pathBeneath{uint64(a), int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// openPath opens an absolute path and follows no symbolic link.
func openPath(path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EINTR):
			continue // interrupted in a FUSE file system
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			return openNames(path) // tipstaff runs under its own filter, or under that of an old container
		}
		return -1, err
	}
}

// openNames does the same element by element, without openat2.
func openNames(path string) (int, error) {
	dir, err := openName(unix.AT_FDCWD, "/")
	if err != nil {
		return -1, err
	}
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' }) {
		next, err := openName(dir, name)
		_ = unix.Close(dir)
		if err != nil {
			return -1, err
		}
		dir = next
	}
	return dir, nil
}

// openName opens one name in a directory, and refuses a symbolic link: a rule
// holds for the file that is open, and a command could point a link at a file
// that it must not reach. The type is read from the descriptor, because another
// file may be at the name by then.
func openName(dir int, name string) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EINTR) {
			continue // interrupted in a FUSE file system
		}
		if err != nil {
			return -1, err
		}
		mode, err := fileType(fd)
		if err == nil && mode == unix.S_IFLNK {
			err = unix.ELOOP
		}
		if err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
		return fd, nil
	}
}

func isDirectory(fd int) (bool, error) {
	mode, err := fileType(fd)
	return mode == unix.S_IFDIR, err
}

func fileType(fd int) (uint32, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	return st.Mode & unix.S_IFMT, nil
}

func closeFD(fd int) error { return unix.Close(fd) }
