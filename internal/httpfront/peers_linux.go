package httpfront

import (
	"net"

	"golang.org/x/sys/unix"

	"tipstaff/internal/control"
)

// peerUser is the user of the process that has connected, as it was then
// (SO_PEERCRED, unix(7)). A command must not come back as its server's user and
// get rights that its own caller does not have.
func peerUser(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	if err := control.NoCommand(int(cred.Pid)); err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
