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

const setSize = 8 // of a set of signals, in bytes

// restoreDefault undoes the handler of the Go runtime, which turns some deadly
// signals into an exit with the code 2.
func restoreDefault(n syscall.Signal) error {
	if n == syscall.SIGKILL {
		return nil
	}
	var byDefault [8]uintptr // a struct sigaction of zeros: SIG_DFL
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&byDefault)), 0, setSize, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// becomeDeaf hands on what a careless parent would: nohup ignores SIGHUP, and
// a program with threads may start others while it has everything blocked.
func becomeDeaf(args []string) error {
	if len(args) == 0 {
		return errors.New("no command was named")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	signal.Ignore()
	runtime.LockOSThread() // the mask is a thread's, and exec hands this one's on
	everything := ^uint64(0)
	const setMask = 2 // SIG_SETMASK
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&everything)), 0, setSize, 0, 0); errno != 0 {
		return errno
	}
	return syscall.Exec(path, args, os.Environ())
}
