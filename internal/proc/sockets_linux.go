//go:build linux

package proc

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Connect is connect(2) with an address as it is in memory.
func Connect(fd int, address []byte) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(address))), uintptr(len(address)))
	return errno
}

// FileOf returns the device and the number by which the kernel knows the file of a
// descriptor that [Call.Locate] found for a process. stat says others where a file system
// has several devices (btrfs, overlays). It fails before Linux 5.14.
func FileOf(fd, pid int) (dev, ino uint64, err error) {
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return 0, 0, err
	}
	var flags, mount, id, parent uint64
	var major, minor uint32
	if _, err := fmt.Sscanf(string(info), "pos:\t0\nflags:\t%o\nmnt_id:\t%d\nino:\t%d\n", &flags, &mount, &ino); err != nil {
		return 0, 0, err
	}
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(mounts)) {
		if _, err := fmt.Sscanf(line, "%d %d %d:%d", &id, &parent, &major, &minor); err == nil && id == mount {
			return unix.Mkdev(major, minor), ino, nil
		}
	}
	return 0, 0, os.ErrNotExist
}

// CanBorrow reports whether [Call.Borrow] and the like work for processes of this user, in
// user namespaces that the server makes or outside. Yama forbids it by its higher settings.
func CanBorrow(inNamespaces bool) bool {
	const noneButPrivileged, none = "2", "3"
	text, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	switch strings.TrimSpace(string(text)) {
	case none:
		return false
	case noneButPrivileged:
		return inNamespaces || os.Geteuid() == 0
	}
	return true
}
