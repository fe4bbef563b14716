package peer

import (
	"context"
	"errors"
	"net"
)

// LoopbackUsers is the setting of the users that a [Dialer] lets listen.
const LoopbackUsers = "TIPSTAFF_LOOPBACK_USERS"

// ErrForeign says that somebody is at this machine's end who must get nothing.
var ErrForeign = errors.New("nothing is sent")

// Dialer connects, and asks the kernel who is at the other end where that is this machine.
// A port is for whoever takes it first: while a collector is down, a command could take
// its port and get what is meant for the collector. So the other end must belong to this
// user, to root or to one of Users, and to no command of a tipstaff. Outside of Linux the
// kernel is not asked.
type Dialer struct {
	net.Dialer
	// Users are other users who may listen. One may be this user: that is for a process
	// which cannot be seen from here, as one in another container of a pod.
	Users []int

	holders Holders
}

// DialContext is [net.Dialer.DialContext] with that question, which comes before anything
// is sent.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := d.Check(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// Check asks once more. That is for datagrams, which each find whoever listens then.
func (d *Dialer) Check(conn net.Conn) error { return d.check(conn) }
