package egress

import (
	"fmt"
	"net"
	"os"
)

// Listen gives the listener of a socket that somebody else has opened, bound and
// set to listen, for Serve. The file stays the caller's.
func Listen(socket *os.File) (net.Listener, error) {
	l, err := net.FileListener(socket)
	if err != nil {
		return nil, fmt.Errorf("cannot serve the egress proxy: %w", err)
	}
	return l, nil
}
