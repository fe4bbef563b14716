//go:build linux && (amd64 || arm64)

package proc

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignoreChildSignals stops the kernel from sending SIGCHLD to the process. The
// Go runtime has a handler for it that does nothing, so each command that ends
// would wake a thread of the server to run that handler, besides the one that
// waits for the command's pidfd. With the default action the kernel discards
// the signal without waking a thread; and unlike with SIG_IGN, children that
// have ended remain until they are waited for (sigaction(2)). This holds for
// the whole process: no code in it may request SIGCHLD from os/signal.
func ignoreChildSignals() error {
	_, _, errno := unix.Syscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(&byDefault)), 0, sigsetBytes, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
