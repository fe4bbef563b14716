package httpserver

import (
	"net"

	"tipstaff/internal/unixsocket"
)

func peerUser(c *net.UnixConn) (int, error) { return unixsocket.Peer(c) }
