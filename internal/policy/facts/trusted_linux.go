package facts

import "golang.org/x/sys/unix"

// readOnly reports whether the file system at path is mounted read-only.
func readOnly(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}
