package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// DefaultAddress is where a console listens: on loopback, at a free port.
const DefaultAddress = "127.0.0.1:0"

// unixPrefix begins an address that is the path of a unix socket.
const unixPrefix = "unix:"

// Listen listens at HOST:PORT, where HOST is an address of loopback, localhost
// or nothing, or at unix:PATH. It refuses what other machines could reach.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		return listenUnix(ctx, path)
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

// listenUnix makes a socket that only its owner can connect to, in the place of
// one on which no process listens.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if path == "" {
		return nil, errors.New("unix: names no socket: write unix:PATH")
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err == nil {
			_ = conn.Close() // Listen says that the address is in use
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func portOf(a *net.TCPAddr) string { return strconv.Itoa(a.Port) }
