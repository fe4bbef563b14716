package host

import "golang.org/x/sys/unix"

// openPlain neither follows a link nor waits for a pipe.
const openPlain = unix.O_NOFOLLOW | unix.O_NONBLOCK

// readOnly reports whether nobody can write where path is mounted here.
func readOnly(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}
