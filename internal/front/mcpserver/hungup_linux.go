package mcpserver

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the other end of an input is closed, even if something of it
// has not been read.
func hungUp(in io.Reader) (is bool) {
	f, ok := in.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(fds, 0)
		is = err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLRDHUP) != 0
	})
	return is
}
