package api

import (
	"fmt"
	"net"
	"os"

	"tipstaff"
	"tipstaff/internal/peer"
)

// Peer returns the user at the other end of a unix socket, as the kernel reports
// it. The error is that this user may not act here: it is neither the one that this
// process runs as nor root, or it is a command of tipstaff.
func Peer(conn *net.UnixConn) (tipstaff.Person, error) {
	uid, err := peer.Unix(conn)
	if err != nil {
		return tipstaff.Person{}, err
	}
	if uid != os.Geteuid() && uid != 0 {
		return tipstaff.Person{}, fmt.Errorf("user %d", uid)
	}
	return personOf(uint32(uid)), nil
}
