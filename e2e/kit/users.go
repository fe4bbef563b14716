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

// The tiers, by the names that settings and records use.
const (
	Namespaces = "namespaces"
	Landlock   = "landlock"
	None       = "none"
)

// Ordinary is a user who is nobody in particular.
const Ordinary = 1000

// Sandboxed are the settings that ask for a tier, and for no other.
func Sandboxed(tier string) []string {
	switch tier {
	case Namespaces:
		return []string{"TIPSTAFF_SANDBOX=require", "TIPSTAFF_SANDBOX_TIER=namespaces"}
	case Landlock:
		return []string{"TIPSTAFF_SANDBOX=best-effort", "TIPSTAFF_SANDBOX_TIER=landlock"} // at most
	default:
		return []string{"TIPSTAFF_SANDBOX=off"}
	}
}

// MachinesRoot reports whether the tester is the root of the machine, who can be
// everybody, and not only a user's own root.
func MachinesRoot() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && os.Geteuid() == 0 && strings.Contains(string(ids), "4294967295")
}

// Users are those as whom servers run: root and an ordinary user, or the tester
// alone, who cannot be another.
func Users() []int {
	if !MachinesRoot() {
		return []int{os.Geteuid()}
	}
	return []int{0, Ordinary}
}

// As makes a process the user's, in a process group of its own.
func As(uid int) *syscall.SysProcAttr {
	if uid == os.Geteuid() {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

// Give makes everything in a directory, and itself, the user's.
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
