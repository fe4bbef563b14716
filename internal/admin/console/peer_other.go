//go:build !linux

package console

import "net"

// checkTCP passes everyone on: this system does not say who is at the other end
// of a connection on loopback, so the cookie alone must do.
func checkTCP(*net.TCPConn, *holders) error { return nil }

// holders are not needed where no connection is looked into.
type holders struct{}
