//go:build linux

package guard

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// reopen gives the owner's rights back to the directories between root and path, and
// to path if it is one, and reports whether it has changed something. A command can
// close a directory of the server's user (chmod 0). Behind it nothing could be read
// or put back, and sandboxes that are made meanwhile could pin nothing.
func reopen(root, path string) (changed bool) {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
	for dir := root; ; {
		fd, err := openDir(dir)
		if err != nil {
			return changed
		}
		changed = giveOwnerRights(fd) || changed
		_ = unix.Close(fd)
		if rest == "" {
			return changed
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		dir += "/" + name
	}
}

// giveOwnerRights makes a directory of this user usable for its owner.
func giveOwnerRights(fd int) (changed bool) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || int(st.Uid) != unix.Geteuid() || st.Mode&unix.S_IRWXU == unix.S_IRWXU {
		return false
	}
	// fchmod takes no O_PATH descriptor.
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), st.Mode&0o7777|unix.S_IRWXU) == nil
}

// readOpen reads an item. If a command may have closed the way to it, the way is
// opened first.
func (g *Guard) readOpen(it *item) content {
	now := it.read()
	if errors.Is(now.fault, unix.EACCES) && len(g.suspects(it.Path)) > 0 && reopen(it.root, it.Path) {
		now = it.read()
	}
	return now
}
