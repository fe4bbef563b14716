package proc

import "golang.org/x/sys/unix"

// Seal makes sure that no descriptor which the server itself was started with
// reaches a command: whoever started the server may have left some open. It is
// called once, before the first Start. Kernels before 5.11 lack the call; there
// the descriptors are marked one by one.
func Seal() {
	const first = 3
	if unix.CloseRange(first, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for fd := first; fd < 1024; fd++ {
		unix.CloseOnExec(fd)
	}
}
