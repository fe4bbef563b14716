package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// modeTries concern metadata of files: modes, owners, times, attributes; and
// special files.
func modeTries() []try {
	return []try{
		{"chmod", 2, func(a []string) (string, error) { return withMode(a, syscall.Chmod) }},
		{"fchmod", 2, fchmod},
		{"fchmodat2", 2, func(a []string) (string, error) {
			return withMode(a, func(path string, mode uint32) error {
				p, err := pathOf(path)
				if err == nil {
					_, err = call(numberFchmodat2, here, p, uintptr(mode), 0)
				}
				return err
			})
		}},
		{"chown", 1, func(a []string) (string, error) { return "", os.Chown(a[0], os.Getuid(), os.Getgid()) }},
		{"utimes", 1, func(a []string) (string, error) { return "", os.Chtimes(a[0], time.Unix(1, 0), time.Unix(1, 0)) }},
		{"setxattr", 1, func(a []string) (string, error) {
			return "", syscall.Setxattr(a[0], "user.gotcha", []byte("1"), 0)
		}},
		{"chattr", 1, chattr},
		{"file-setattr", 1, fileSetattr},
		{"open-as", 2, func(a []string) (string, error) {
			return withMode(a, func(path string, mode uint32) error {
				return made(syscall.Open(path, syscall.O_CREAT|syscall.O_WRONLY|syscall.O_EXCL, mode))
			})
		}},
		{"unnamed-as", 2, func(a []string) (string, error) {
			return withMode(a, func(path string, mode uint32) error { return made(syscall.Open(path, oTmpfile|syscall.O_WRONLY, mode)) })
		}},
		{"mknod", 2, mknod},
		{"mknod-as", 2, func(a []string) (string, error) {
			return withMode(a, func(path string, mode uint32) error { return syscall.Mknod(path, mode|syscall.S_IFREG, 0) })
		}},
	}
}

func made(fd int, err error) error {
	if err != nil {
		return err
	}
	return syscall.Close(fd)
}

func withMode(a []string, do func(path string, mode uint32) error) (string, error) {
	mode, err := strconv.ParseUint(a[1], 8, 32)
	if err != nil {
		return "", err
	}
	return "", do(a[0], uint32(mode))
}

func fchmod(a []string) (string, error) {
	return withMode(a, func(path string, mode uint32) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return syscall.Fchmod(int(f.Fd()), mode)
	})
}

// linux/fs.h
const (
	fsIocGetFlags = 0x80086601
	fsIocSetFlags = 0x40086602
	fsNoDump      = 0x40
)

// chattr sets an attribute that is not a mode, through a descriptor opened for
// reading.
func chattr(a []string) (string, error) {
	f, err := os.Open(a[0])
	if err != nil {
		return "open", err
	}
	defer f.Close()
	var flags uint64
	if _, err := call(syscall.SYS_IOCTL, f.Fd(), fsIocGetFlags, uintptr(unsafe.Pointer(&flags))); err != nil {
		return "ask", err
	}
	flags |= fsNoDump
	_, err = call(syscall.SYS_IOCTL, f.Fd(), fsIocSetFlags, uintptr(unsafe.Pointer(&flags)))
	return "set", err
}

// fileSetattr sets the same attribute by the call of Linux 6.17.
func fileSetattr(a []string) (string, error) {
	path, err := pathOf(a[0])
	if err != nil {
		return "", err
	}
	attr := struct { // struct file_attr
		flags                            uint64
		extent, count, project, cowBytes uint32
	}{flags: 0x80} // FS_XFLAG_NODUMP
	_, err = call(numberFileSetattr, here, path, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	return "", err
}

// mknod makes a device, or a pipe.
func mknod(a []string) (string, error) {
	kinds := map[string]struct {
		mode uint32
		dev  int
	}{
		"null": {syscall.S_IFCHR, 1<<8 | 3}, "mem": {syscall.S_IFCHR, 1<<8 | 1}, "disk": {syscall.S_IFBLK, 254 << 8}, "fifo": {syscall.S_IFIFO, 0},
	}
	k, ok := kinds[a[1]]
	if !ok {
		return "", os.ErrInvalid
	}
	return "", syscall.Mknod(a[0], k.mode|0o600, k.dev)
}
