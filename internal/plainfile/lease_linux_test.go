package plainfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestALeaseKeepsNobodyWaiting: open(2) would wait for its end, for most of a minute. The
// control is the same file without the lease.
func TestALeaseKeepsNobodyWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, []byte("x"), 0o600))
	holder, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer func() { _ = holder.Close() }()
	lease := func(kind uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, holder.Fd(), 1024 /* F_SETLEASE */, kind); errno != 0 {
			t.Fatal(errno)
		}
	}
	lease(syscall.F_WRLCK)
	if _, err := Read(path, 1); !errors.Is(err, errLeased) {
		t.Errorf("with a lease: %v", err)
	}
	lease(syscall.F_UNLCK)
	if data, err := Read(path, 1); err != nil || string(data) != "x" {
		t.Errorf("without: %q, %v", data, err)
	}
}
