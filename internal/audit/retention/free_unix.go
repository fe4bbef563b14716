//go:build linux || darwin

package retention

import "syscall"

// Free returns how many bytes the file system of a directory has left for this user; -1
// if that cannot be told.
func Free(dir string) int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return -1
	}
	return int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // types differ between systems
}
