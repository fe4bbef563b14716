//go:build unix

package audit

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openTo says which other users can read or change a file; "" if none can.
func openTo(info fs.FileInfo) string {
	if info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("can be read or changed by other users: it has the mode %04o", info.Mode().Perm())
}

// writableBy says which other users can change what is in a directory; "" if none
// can.
func writableBy(info fs.FileInfo) string {
	if info.Mode().Perm()&0o022 == 0 {
		return ""
	}
	return fmt.Sprintf("can be changed by other users: it has the mode %04o", info.Mode().Perm())
}

// foreign returns the owner of a file that belongs to another user; "" if it does
// not. What belongs to root will do if root may be that user: root can do all that
// the owner can.
func foreign(info fs.FileInfo, root bool) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() || root && st.Uid == 0 {
		return ""
	}
	return fmt.Sprintf("another user (uid %d)", st.Uid)
}
