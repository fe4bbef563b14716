//go:build unix

package server

import (
	"fmt"
	"os"
	"syscall"
)

// isJournal reports whether f is the stream that the journal reads, according
// to systemd. The variable names its device and inode, because it is also
// inherited by processes with another standard error.
func isJournal(f *os.File, stream string) bool {
	info, err := f.Stat()
	if err != nil || stream == "" {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// othersRead reports whether other users may read a file.
func othersRead(info os.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
