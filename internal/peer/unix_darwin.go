package peer

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// unixPeer asks the kernel (LOCAL_PEERCRED). It does not check which process started the
// client.
func unixPeer(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Xucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("cannot tell who it is: %w", err)
	}
	return int(cred.Uid), nil
}
