//go:build linux && (amd64 || arm64)

package proc

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignoreChildSignals has the kernel send no SIGCHLD: the Go runtime has a handler
// for it that does nothing, so each command that ends would wake a thread of the
// server to run that, besides the one that waits for the command's pidfd. By
// default the signal is thrown away before anybody is woken; and other than with
// SIG_IGN, children that have ended stay until somebody has waited for them
// (sigaction(2)). It holds for the whole process: nobody in it may ask os/signal
// for SIGCHLD.
func ignoreChildSignals() error {
	_, _, errno := unix.Syscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(&byDefault)), 0, sigsetBytes, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
