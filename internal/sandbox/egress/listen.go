package egress

import (
	"fmt"
	"net"
	"os"
)

// Listen returns a listener for a socket that is already bound and listening,
// for Serve. The caller still owns the file.
func Listen(socket *os.File) (net.Listener, error) {
	l, err := net.FileListener(socket)
	if err != nil {
		return nil, fmt.Errorf("cannot serve the egress proxy: %w", err)
	}
	return l, nil
}
