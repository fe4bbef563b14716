//go:build unix

package host

import (
	"io/fs"
	"syscall"
)

// ownerOf tells whose a file is.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
