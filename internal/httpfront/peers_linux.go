package httpfront

import (
	"net"

	"golang.org/x/sys/unix"

	"tipstaff/internal/control"
)

// peerUser returns the user of the process at the time when it connected
// (SO_PEERCRED, unix(7)). A command must not connect as its server's user and
// gain rights that its own caller does not have.
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
