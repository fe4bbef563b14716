package control

import (
	"net"

	"tipstaff"
)

// Peer returns the user at the other end of a unix socket, as the kernel reports
// it. The error is that this user may not act here: it is neither the one that this
// process runs as nor root, or it is a command of tipstaff.
func Peer(conn *net.UnixConn) (tipstaff.Person, error) { return peerOf(conn) }
