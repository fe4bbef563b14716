//go:build linux && !race

package faults

import (
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// socket opens a socket on a machine: it stays there, whatever thread uses it.
func (m *machine) socket(t *testing.T) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	failed := make(chan error, 1)
	go func() { // its thread ends with it, because it is not unlocked
		runtime.LockOSThread()
		there, err := os.Open("/run/netns/" + m.name)
		if err == nil {
			err = unix.Setns(int(there.Fd()), unix.CLONE_NEWNET)
			_ = there.Close()
		}
		if err == nil {
			c, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(m.addr), Port: 9})
		}
		failed <- err
	}()
	must(t, <-failed)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// arrives reports whether a datagram gets from one socket to another within a time.
func arrives(t *testing.T, from, to *net.UDPConn, within time.Duration) bool {
	t.Helper()
	text := newID("x")
	_, _ = from.WriteTo([]byte(text), to.LocalAddr())
	must(t, to.SetReadDeadline(time.Now().Add(within)))
	for b := make([]byte, 64); ; {
		n, err := to.Read(b)
		if err != nil {
			return false
		}
		if string(b[:n]) == text {
			return true
		}
	}
}

// patient is how long a datagram is waited for that is to arrive, or not.
func patient(arrives bool) time.Duration {
	if arrives {
		return 20 * time.Second
	}
	return 300 * time.Millisecond
}

// TestTheNetworkFailsAsItIsTold: the faults of the network do what their names
// say, and no more, and end.
func TestTheNetworkFailsAsItIsTold(t *testing.T) {
	needNamespaces(t)
	l := newLAN(t)
	a, b, c := l.machine("a", 101), l.machine("b", 102), l.machine("c", 103)
	as, bs, cs := a.socket(t), b.socket(t), c.socket(t)
	want := func(what string, ab, ba, ac bool) {
		t.Helper()
		x, y, z := arrives(t, as, bs, patient(ab)), arrives(t, bs, as, patient(ba)), arrives(t, as, cs, patient(ac))
		if x != ab || y != ba || z != ac {
			t.Errorf("%s: a to b %v, b to a %v, a to c %v", what, x, y, z)
		}
	}
	soon := patient(false)
	eventually(t, "the wires are up", time.Minute, func() bool { return arrives(t, as, bs, soon) && arrives(t, bs, as, soon) && arrives(t, as, cs, soon) }, func() string { return "" })
	want("at first", true, true, true)
	a.deafen(b)
	want("a loses what it sends to b", false, true, true)
	a.hear(b)
	want("and no longer", true, true, true)
	a.cut(b)
	want("a and b are cut from each other", false, false, true)
	a.mend(b)
	want("and no longer", true, true, true)
	a.unplug()
	want("a has no wire", false, false, false)
	a.plug()
	eventually(t, "the wire is back", time.Minute, func() bool { return arrives(t, as, bs, soon) && arrives(t, as, cs, soon) }, func() string { return "" })
	want("and has it again", true, true, true)
}
