//go:build unix

package kit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Ordinary is an unprivileged user.
const Ordinary = 1000

// MachinesRoot reports whether the tests run as the machine's root, who can
// become every user, and not only as root of a user namespace.
func MachinesRoot() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && os.Geteuid() == 0 && strings.Contains(string(ids), "4294967295")
}

// Users returns the users as whom servers run: root and an ordinary user, or
// only the present one if it cannot become another.
func Users() []int {
	if !MachinesRoot() {
		return []int{os.Geteuid()}
	}
	return []int{0, Ordinary}
}

// As starts a process as the user, in a process group of its own.
func As(uid int) *syscall.SysProcAttr {
	if uid == os.Geteuid() {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

// Give makes the user the owner of a directory and everything in it.
func Give(t testing.TB, uid int, dir string) {
	t.Helper()
	if uid == os.Geteuid() {
		return
	}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	})
	if err != nil {
		t.Fatal(err)
	}
}
