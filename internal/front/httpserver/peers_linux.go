package httpserver

import (
	"net"

	"tipstaff/internal/peer"
)

func peerUser(c *net.UnixConn) (int, error) { return peer.Unix(c) }
