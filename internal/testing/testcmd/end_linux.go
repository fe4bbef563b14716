package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"
)

const setSize = 8 // size of a signal set in bytes

// restoreDefault removes the handler of the Go runtime, which turns some fatal
// signals into exit code 2.
func restoreDefault(n syscall.Signal) error {
	if n == syscall.SIGKILL {
		return nil
	}
	var byDefault [8]uintptr // a zero struct sigaction: SIG_DFL
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&byDefault)), 0, setSize, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// becomeDeaf passes on what a careless parent would: nohup ignores SIGHUP, and
// a program with threads may start others while all signals are blocked.
func becomeDeaf(args []string) error {
	if len(args) == 0 {
		return errors.New("no command was named")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	signal.Ignore()
	runtime.LockOSThread() // the mask belongs to the thread, and exec keeps that of this one
	everything := ^uint64(0)
	const setMask = 2 // SIG_SETMASK
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&everything)), 0, setSize, 0, 0); errno != 0 {
		return errno
	}
	return syscall.Exec(path, args, os.Environ())
}
