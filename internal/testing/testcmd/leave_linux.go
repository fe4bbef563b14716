package main

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"
)

// leaveObject makes an object of an IPC namespace, which ends with that and not with its
// maker.
func leaveObject(args []string) error {
	const create, key, bytes = 0o1000 | 0o600, 0x7157af, 4096
	var errno syscall.Errno
	switch kind := append(args, "")[0]; kind {
	case "shm":
		_, _, errno = syscall.Syscall(syscall.SYS_SHMGET, key, bytes, create)
	case "sem":
		_, _, errno = syscall.Syscall(syscall.SYS_SEMGET, key, 1, create)
	case "msg":
		_, _, errno = syscall.Syscall(syscall.SYS_MSGGET, key, create, 0)
	case "mq":
		name := []byte("tipstaff-left\x00")
		_, _, errno = syscall.Syscall6(syscall.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&name[0])), syscall.O_CREAT|syscall.O_RDWR, 0o600, 0, 0, 0)
	case "attribute":
		if len(args) != 2 {
			return errors.New("leave attribute FILE")
		}
		return syscall.Setxattr(args[1], "user.tipstaff-left", []byte("x"), 0)
	default:
		return fmt.Errorf("there is no object %q", kind)
	}
	if errno != 0 {
		return errno
	}
	return nil
}
