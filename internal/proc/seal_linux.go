package proc

import "golang.org/x/sys/unix"

// Seal marks all descriptors that the server was started with close-on-exec, so
// that none reaches a command. Call it once, before the first Start. Kernels
// before 5.11 lack the call for all descriptors; there they are marked one by
// one.
func Seal() {
	const first = 3
	if unix.CloseRange(first, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for fd := first; fd < 1024; fd++ {
		unix.CloseOnExec(fd)
	}
}
