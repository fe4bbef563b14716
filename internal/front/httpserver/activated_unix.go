//go:build unix

package httpserver

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// firstActivated is the first descriptor that a service manager passes
// (sd_listen_fds(3)).
const firstActivated = 3

// activated returns the sockets that a service manager has opened for this
// process, according to LISTEN_PID and LISTEN_FDS; none if they are not set or
// name another process.
func activated(listenPID, listenFDs string) ([]net.Listener, error) {
	if listenPID != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(listenFDs)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("LISTEN_FDS=%q is no number of sockets", listenFDs)
	}
	var all []net.Listener
	for fd := firstActivated; fd < firstActivated+n; fd++ {
		syscall.CloseOnExec(fd) // commands must not inherit it
		f := os.NewFile(uintptr(fd), "LISTEN_FD_"+strconv.Itoa(fd))
		l, err := net.FileListener(f)
		_ = f.Close() // the listener has its own copy
		if err != nil {
			return nil, fmt.Errorf("descriptor %d of the service manager is no listening socket: %w", fd, err)
		}
		all = append(all, l)
	}
	return all, nil
}
