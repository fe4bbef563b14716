//go:build unix

package flock

import (
	"errors"
	"os"
	"syscall"
)

func try(f *os.File) error {
	conn, err := f.SyscallConn() // unlike Fd, it leaves the mode of the file alone
	if err != nil {
		return err
	}
	var locked error
	err = conn.Control(func(fd uintptr) {
		for {
			locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
			if !errors.Is(locked, syscall.EINTR) { // a signal says nothing of the lock
				return
			}
		}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(locked, syscall.EWOULDBLOCK):
		return ErrLocked
	}
	return locked
}

func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
}
