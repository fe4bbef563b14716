package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// fileTries concern files and their content.
func fileTries() []try {
	return []try{
		{"create", 1, func(a []string) (string, error) {
			return "", writeTo(a[0], syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL)
		}},
		{"overwrite", 1, func(a []string) (string, error) { return "", writeTo(a[0], syscall.O_WRONLY) }},
		{"append", 1, func(a []string) (string, error) { return "", writeTo(a[0], syscall.O_WRONLY|syscall.O_APPEND) }},
		{"truncate", 1, func(a []string) (string, error) { return "", syscall.Truncate(a[0], 0) }},
		{"open-truncate", 1, func(a []string) (string, error) { return opened(a[0], syscall.O_RDONLY|syscall.O_TRUNC) }},
		{"open-write", 1, func(a []string) (string, error) { return opened(a[0], syscall.O_WRONLY) }},
		{"open-read", 1, func(a []string) (string, error) { return opened(a[0], syscall.O_RDONLY) }},
		{"reopen-write", 1, reopenWrite},
		{"unnamed", 2, linkUnnamed},
		{"read", 1, readSome},
		{"list", 1, listNames},
		{"readlink", 1, func(a []string) (string, error) { return os.Readlink(a[0]) }},
		{"stat", 1, statSize},
		{"watch", 1, watchFor},
		{"rename", 2, func(a []string) (string, error) { return "", os.Rename(a[0], a[1]) }},
		{"exchange", 2, exchange},
		{"exchange-often", 2, func(a []string) (string, error) {
			for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
				if got, err := exchange(a); err != nil {
					return got, err
				}
			}
			return "", nil
		}},
		{"link", 2, func(a []string) (string, error) { return "", os.Link(a[0], a[1]) }},
		{"symlink", 2, func(a []string) (string, error) { return "", os.Symlink(a[0], a[1]) }},
		{"mkdir", 1, func(a []string) (string, error) { return "", os.Mkdir(a[0], 0o755) }},
		{"unlink", 1, func(a []string) (string, error) { return "", syscall.Unlink(a[0]) }},
		{"rmdir", 1, func(a []string) (string, error) { return "", syscall.Rmdir(a[0]) }},
		{"from-root", 1, fromRoot},
	}
}

const gotcha = "gotcha\n"

func writeTo(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(gotcha)
	return err
}

func opened(path string, flags int) (string, error) {
	fd, err := syscall.Open(path, flags|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	return "", syscall.Close(fd)
}

// reopenWrite opens a file for reading, and then opens its descriptor for
// writing.
func reopenWrite(a []string) (string, error) {
	f, err := os.Open(a[0])
	if err != nil {
		return "", err
	}
	defer f.Close()
	return "", writeTo("/proc/self/fd/"+itoa(int(f.Fd())), syscall.O_WRONLY)
}

const oTmpfile = 0o20000000 | syscall.O_DIRECTORY // O_TMPFILE

// linkUnnamed makes an unnamed file in a directory, and gives it a name.
func linkUnnamed(a []string) (string, error) {
	fd, err := syscall.Open(a[0], oTmpfile|syscall.O_WRONLY, 0o644)
	if err != nil {
		return "open", err
	}
	defer syscall.Close(fd)
	const follow = 0x400 // AT_SYMLINK_FOLLOW
	from, to, err := twoPaths("/proc/self/fd/"+itoa(fd), a[1])
	if err != nil {
		return "", err
	}
	_, err = call(syscall.SYS_LINKAT, here, from, here, to, follow)
	return "link", err
}

const here = ^uintptr(99) // AT_FDCWD

// renameExchange is RENAME_EXCHANGE.
const renameExchange = 2

func exchange(a []string) (string, error) {
	from, to, err := twoPaths(a[0], a[1])
	if err != nil {
		return "", err
	}
	_, err = call(numberRenameat2, here, from, here, to, renameExchange)
	return "", err
}

// kept keeps alive what system calls point to: there is little, and the program
// runs briefly.
var kept [][]byte

func pathOf(path string) (uintptr, error) {
	b, err := syscall.ByteSliceFromString(path)
	if err != nil {
		return 0, err
	}
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0])), nil
}

func twoPaths(a, b string) (uintptr, uintptr, error) {
	first, err := pathOf(a)
	if err != nil {
		return 0, 0, err
	}
	second, err := pathOf(b)
	return first, second, err
}

func readSome(a []string) (string, error) {
	f, err := os.Open(a[0])
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, err := syscall.Read(int(f.Fd()), b)
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}

func listNames(a []string) (string, error) {
	entries, err := os.ReadDir(a[0])
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " "), nil
}

func statSize(a []string) (string, error) {
	st, err := os.Stat(a[0])
	if err != nil {
		return "", err
	}
	return itoa(int(st.Size())), nil
}

// watchFor watches a file.
func watchFor(a []string) (string, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		return "inotify", err
	}
	_, err = syscall.InotifyAddWatch(fd, a[0], syscall.IN_ALL_EVENTS)
	return "", err
}

// fromRoot goes up from the working directory as far as possible, and from
// there to a path.
func fromRoot(a []string) (string, error) {
	up := strings.Repeat("../", 64)
	path := filepath.Clean(a[0])
	if !filepath.IsAbs(path) {
		return "", fs.ErrInvalid
	}
	return "", writeTo(up+strings.TrimPrefix(path, "/"), syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL)
}
