//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// reachable reports whether a root without capabilities could go to a path.
// What it could not, commands of a server that runs as root cannot either; nor
// can anything be mounted there, in a user namespace in which root is nobody
// special. Any other user can do what it can do.
func reachable(path string) bool {
	if os.Getuid() != 0 {
		return true
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return false
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && !mayEnter(st) {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// mayEnter asks the mode alone: access lists are not looked at.
func mayEnter(st *syscall.Stat_t) bool {
	groups, _ := os.Getgroups()
	switch {
	case int(st.Uid) == os.Getuid():
		return st.Mode&0o100 != 0
	case int(st.Gid) == os.Getgid(), slices.Contains(groups, int(st.Gid)):
		return st.Mode&0o010 != 0
	default:
		return st.Mode&0o001 != 0
	}
}
