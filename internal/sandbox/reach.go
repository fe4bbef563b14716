//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
)

// outOfReach returns a function that reports whether commands cannot reach the path
// of a mount. A command runs as the server's user, without the server's
// capabilities: root's commands do not get into a directory that is closed to
// others. The root of the namespaces does not either, so such a mount would fail,
// and with it all of the view.
func outOfReach() func(proc.Mount) bool {
	open := map[string]bool{} // directories that were checked
	return func(m proc.Mount) bool {
		return closedAbove(m.Path, open) || m.Source != "" && closedAbove(m.Source, open)
	}
}

// closedAbove reports whether a directory above path is closed to commands. The
// user's own directories count as open, because a command can change their modes.
func closedAbove(path string, open map[string]bool) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		is, known := open[dir]
		if !known {
			is = opensWithoutCapabilities(dir)
			open[dir] = is
		}
		if !is {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// opensWithoutCapabilities reports whether the server's user can look up names in a
// directory without capabilities. If that cannot be found out, it counts as open:
// then the mount is tried.
func opensWithoutCapabilities(dir string) bool {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || int(st.Uid) == unix.Geteuid() {
		return true
	}
	return !errors.Is(lookUpWithoutCapabilities(fd), unix.EACCES)
}

// lookUpWithoutCapabilities looks up a name in a directory.
func lookUpWithoutCapabilities(dir int) error {
	return withoutCapabilities(func() error {
		fd, err := unix.Openat(dir, ".", unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	})
}

// mayCommand reports whether a command has these rights to path (access(2)), as far
// as modes and owners say. If that cannot be found out, the answer is yes.
func mayCommand(path string, mode uint32) bool {
	err := withoutCapabilities(func() error { return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) })
	return !errors.Is(err, unix.EACCES)
}

// withoutCapabilities calls f on a thread that gives up its capabilities for that
// time.
func withoutCapabilities(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever, if they cannot be restored
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var own, none [2]unix.CapUserData
		if err := unix.Capget(&header, &own[0]); err != nil {
			result <- err
			return
		}
		none = own
		none[0].Effective, none[1].Effective = 0, 0
		err := unix.Capset(&header, &none[0])
		if err == nil {
			err = f()
		}
		if unix.Capset(&header, &own[0]) == nil {
			runtime.UnlockOSThread()
		}
		result <- err
	}()
	return <-result
}

// whyNotUsable says why commands can do nothing in their workspace; "" if they can.
// If the server runs as root, a command is a root without capabilities, and the
// modes of other users' files hold for it.
func whyNotUsable(dir string) string {
	var st unix.Stat_t
	if unix.Geteuid() != 0 || unix.Stat(dir, &st) != nil || st.Uid == 0 {
		return ""
	}
	what := "written"
	switch {
	case !mayCommand(dir, unix.X_OK):
		what = "entered"
	case mayCommand(dir, unix.W_OK):
		return ""
	}
	return fmt.Sprintf("%s cannot be %s by commands: it belongs to user %d with mode %04o, and commands of a server that runs as root have no capabilities; run the server as that user, or give root the directory",
		dir, what, st.Uid, st.Mode&0o7777)
}
