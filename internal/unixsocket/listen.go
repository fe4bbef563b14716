package unixsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// longestPath is the length of the longest path of a Unix socket (unix(7)).
const longestPath = 107

// Listen makes a socket that only this user and root can connect to. It
// replaces the socket of a dead server, but not that of a live one.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	if err := clearStale(ctx, path); err != nil {
		return nil, err
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	// A client that connects before this is authenticated like any other.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if err := CheckSocket(path, info); err != nil {
		return err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another server listens at %s", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot find out whether a server listens at %s: %w", path, err)
	}
	return os.Remove(path)
}

// CheckPath says why no socket can be made at a path, for its form alone.
func CheckPath(path string) error {
	if path == "" || len(path) > longestPath {
		return fmt.Errorf("the path of a Unix socket has 1 to %d bytes", longestPath)
	}
	if path[0] == '@' {
		return errors.New("a Unix socket needs a place among the files, because its mode says who may connect; one that begins with @ has none")
	}
	return nil
}

// CheckSocket says that something else than a socket is at the path; info is of the
// path itself, not of what it leads to.
func CheckSocket(path string, info fs.FileInfo) error {
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket", path)
	}
	return nil
}
