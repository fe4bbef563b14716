package facts

import "golang.org/x/sys/unix"

// openPlain makes open fail on a link, and not block on a pipe.
const openPlain = unix.O_NOFOLLOW | unix.O_NONBLOCK

// readOnly reports whether the file system at path is mounted read-only.
func readOnly(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}
