package console

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"tipstaff/internal/unixsocket"
)

// DefaultAddress is where a console listens: on loopback, at a free port.
const DefaultAddress = "127.0.0.1:0"

// unixPrefix begins an address that is the path of a unix socket.
const unixPrefix = "unix:"

// Listen listens at HOST:PORT, where HOST is an address of loopback, localhost
// or nothing, or at unix:PATH. It refuses what other machines could reach.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		return unixsocket.Listen(ctx, path)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no address: write HOST:PORT, as %s, or unix:PATH", address, DefaultAddress)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("%q is no port: write a number from 0 to 65535; 0 takes one that is free", port)
	}
	if host == "" || strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("the console listens on this machine only, because who opens it can stop commands and allow them: %q is not loopback. Listen at 127.0.0.1 and come from elsewhere by 'ssh -L PORT:127.0.0.1:PORT THIS-HOST'", host)
	}
	var c net.ListenConfig
	return c.Listen(ctx, "tcp", net.JoinHostPort(host, port))
}

func portOf(a *net.TCPAddr) string { return strconv.Itoa(a.Port) }
