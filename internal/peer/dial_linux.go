package peer

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
)

// listening is the state of a socket that accepts connections: TCP_LISTEN.
const listening = "0A"

// attempts is how often a table is read that may have been read while it changed.
const attempts = 3

// check finds the other end in the kernel's tables. What cannot be found is refused.
func (d *Dialer) check(conn net.Conn) error {
	network, local, remote := conn.RemoteAddr().Network(), addrPortOf(conn.LocalAddr()), addrPortOf(conn.RemoteAddr())
	if !remote.IsValid() || !remote.Addr().IsLoopback() && remote.Addr() != local.Addr() {
		return nil // a Unix socket, or another machine
	}
	var ends []socket
	for range attempts {
		if ends = othersEnds(network, local, remote); len(ends) > 0 {
			break
		}
	}
	if len(ends) == 0 {
		return fmt.Errorf("%w to %s: it is this machine, and no process is found that listens there", ErrForeign, remote)
	}
	for _, end := range ends {
		if err := d.mayListen(end); err != nil {
			return fmt.Errorf("%w to %s: %w", ErrForeign, remote, err)
		}
	}
	return nil
}

// othersEnds returns the socket at the other end. A connection that was not accepted yet
// has none; then it is in the queue of one of those who listen.
func othersEnds(network string, local, remote netip.AddrPort) (ends []socket) {
	var accepted []socket
	eachSocket(network, func(at, to netip.AddrPort, state string, s socket) {
		switch {
		case s.inode == "0":
		case at == remote && to == local:
			accepted = append(accepted, s)
		case at.Port() == remote.Port() && (at.Addr() == remote.Addr() || at.Addr().IsUnspecified()) && (state == listening || network == "udp"):
			ends = append(ends, s)
		}
	})
	if len(accepted) > 0 && network == "tcp" {
		return accepted
	}
	return append(ends, accepted...)
}

// errUnseen: nothing that can be seen has the socket open.
var errUnseen = errors.New("no process that can be seen from here listens there, and a command could hide; if it runs in another container or with capabilities of its own, name its user")

// mayListen says why a socket of this machine may not get what is sent. A command has the
// user of its server; only root's commands have root's.
func (d *Dialer) mayListen(s socket) error {
	own := os.Geteuid()
	switch {
	case s.uid != own && (s.uid == 0 || slices.Contains(d.Users, s.uid)):
		return nil
	case s.uid != own:
		return fmt.Errorf("user %d listens there, and neither user %d nor root; if that is right, name the user in %s", s.uid, own, LoopbackUsers)
	case d.holders.hold(s.inode):
		return nil
	}
	if p, ok := holderOf(s.inode); ok {
		d.holders.remember(p)
		return nil
	}
	if err := heldByCommand(s.inode); err != nil {
		return err
	}
	if !slices.Contains(d.Users, s.uid) {
		return fmt.Errorf("%w in %s", errUnseen, LoopbackUsers)
	}
	return nil
}
