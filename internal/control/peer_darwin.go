package control

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"tipstaff"
)

// peerOf returns the client's user, as reported by the kernel (LOCAL_PEERCRED),
// or an error if that user may not answer. On this system it does not check
// which process started the client.
func peerOf(conn *net.UnixConn) (tipstaff.Person, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return tipstaff.Person{}, err
	}
	var cred *unix.Xucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return tipstaff.Person{}, fmt.Errorf("cannot tell who it is: %w", err)
	}
	if int(cred.Uid) != os.Geteuid() && cred.Uid != 0 {
		return tipstaff.Person{}, fmt.Errorf("user %d", cred.Uid)
	}
	return personOf(cred.Uid), nil
}
