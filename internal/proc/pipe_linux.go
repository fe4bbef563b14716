//go:build linux && (amd64 || arm64)

package proc

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Pipe makes a pipe between the server and a program. If read is set, ours is the end
// to read from, else the one to write to. The runtime poller waits for ours. theirs
// blocks, as programs expect, and is not registered with the poller; os.Pipe would
// register both ends. The caller closes both.
func Pipe(read bool) (ours, theirs *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	mode := unix.O_RDONLY
	if !read {
		fds[0], fds[1] = fds[1], fds[0]
		mode = unix.O_WRONLY
	}
	if _, err := unix.FcntlInt(uintptr(fds[0]), unix.F_SETFL, mode|unix.O_NONBLOCK); err != nil {
		closeFDs(fds[:])
		return nil, nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}
