//go:build linux && !race

package contain

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// visitors listens on a port of 127.0.0.1, by TCP and UDP, and counts
// connections.
type visitors struct {
	tcp *net.TCPListener
	udp *net.UDPConn

	came sync.WaitGroup // done when the last visitor has come
	hits int
}

func newVisitors(t *testing.T) *visitors {
	t.Helper()
	v := &visitors{}
	for tries := 0; v.udp == nil; tries++ { // the kernel gives a port that is free for TCP
		var err error
		if v.tcp, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { v.tcp.Close() })
		if v.udp, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: v.port()}); err != nil && tries == 10 {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { v.udp.Close() })
	v.came.Go(v.receive)
	return v
}

func (v *visitors) port() int { return v.tcp.Addr().(*net.TCPAddr).Port }

// farewell is the message of the last visitor by UDP.
const farewell = "this is all"

// lastFrom is where the last visitor by TCP comes from, and no other: what it says
// may come later than is waited for.
var lastFrom = net.IPv4(127, 0, 0, 2)

// receive accepts and closes connections, up to the last visitor.
func (v *visitors) receive() {
	for {
		c, err := v.tcp.Accept()
		if err != nil {
			return
		}
		if from, ok := c.RemoteAddr().(*net.TCPAddr); ok && from.IP.Equal(lastFrom) {
			c.Close()
			return
		}
		_ = c.SetDeadline(time.Now().Add(time.Second)) // some send nothing
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") // some would retry for a long time otherwise
		c.Close()
		v.hits++
	}
}

// count returns how many visitors have come, by TCP and UDP. All that came
// before the call are counted: they are accepted in order, and the last one is
// this function's own.
func (v *visitors) count(t *testing.T) (tcp, udp int) {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: lastFrom}}).Dial("tcp4", v.tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v.came.Wait()
	if _, err := v.udp.WriteTo([]byte(farewell), v.udp.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len(farewell))
	for {
		n, _, err := v.udp.ReadFrom(said)
		if err != nil {
			t.Fatal(err)
		}
		if string(said[:n]) == farewell {
			return v.hits, udp
		}
		udp++
	}
}
