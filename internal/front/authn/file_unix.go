//go:build unix

package authn

import (
	"os"
	"syscall"
)

// ours requires a file that belongs to the server's user or to root and that no
// other user may write.
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

// private requires in addition that no other user may read it. A file of root
// may be readable by its group, because that is how an unprivileged server is
// given a secret (systemd, Kubernetes).
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
