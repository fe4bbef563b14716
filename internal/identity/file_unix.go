//go:build unix

package identity

import (
	"os"
	"syscall"
)

// ours wants a file that belongs to the server's user or to root and that
// nobody else may write.
func ours(info os.FileInfo) error {
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return errOthersOwn
	case info.Mode().Perm()&0o022 != 0:
		return errOthersWrite
	}
	return nil
}

// private wants more: that nobody else may read it. A file of root's may be
// readable by its group, for that is how a server without privileges is given
// one (systemd, Kubernetes).
func private(info os.FileInfo) error {
	if err := ours(info); err != nil {
		return err
	}
	others := os.FileMode(0o077)
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == 0 {
		others = 0o037
	}
	if info.Mode().Perm()&others != 0 {
		return errOthersRead
	}
	return nil
}
