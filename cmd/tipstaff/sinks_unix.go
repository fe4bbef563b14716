//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// isJournal reports whether f is the stream that systemd says the journal
// reads: it names the device and inode, because the variable is inherited by
// whoever gets another standard error.
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
