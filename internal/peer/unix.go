package peer

import "net"

// Unix returns the user at the other end of a socket at the time when it connected, as
// the kernel reports it. On Linux a process that this or another tipstaff has started
// is an error: a command must not connect as its server's user and gain rights that its
// own caller does not have. Systems that report no user are an error, too.
func Unix(conn *net.UnixConn) (uid int, err error) { return unixPeer(conn) }
