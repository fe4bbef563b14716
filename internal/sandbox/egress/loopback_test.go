package egress

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestWhatNoProgramCouldReachIsNoHost: what would be listed in vain is refused when the
// list is read.
func TestWhatNoProgramCouldReachIsNoHost(t *testing.T) {
	for list, want := range map[string]string{
		"127.0.0.0/8": "one by one", "127.0.0.0/30:5432": "one by one", "*.localhost": "localhost:8080", "api.localhost:3000": "localhost:8080",
		"localhost:1," + strings.Join([]string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8", "127.0.0.9", "127.0.0.10", "127.0.0.11", "127.0.0.12", "127.0.0.13", "127.0.0.14", "127.0.0.15", "127.0.0.16", "127.0.0.17"}, ","): "34 ports",
	} {
		if _, err := ParseHosts(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
	for list, want := range map[string]string{
		"localhost:8080": "127.0.0.1:8080 [::1]:8080", "127.0.0.1": "127.0.0.1:80 127.0.0.1:443", "[::1]:5432,10.0.0.5,example.org": "[::1]:5432", "10.0.0.0/8": "", "example.org": "",
	} {
		h, err := ParseHosts(list)
		var got []string
		for _, a := range h.Loopback() {
			got = append(got, a.String())
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", list, got, err, want)
		}
		if again, err := ParseHosts(h.String()); err != nil || again.String() != h.String() {
			t.Errorf("%s is written as %s, which is %s, %v", list, h, again, err)
		}
	}
}

// TestARelayCarriesWhatItDoesNotRead: both directions, the end of each, and a service that
// is not there; and the proxy's end is the relay's.
func TestARelayCarriesWhatItDoesNotRead(t *testing.T) {
	service := listen(t, func(c *talk) {
		io.WriteString(c, "welcome ")
		io.Copy(c, c)
	})
	for says, to := range map[string]string{"a service": service, "none": "127.0.0.1:1"} {
		t.Run(says, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			p, ended := New(Options{}), make(chan error, 1)
			go func() { ended <- p.Relay(context.Background(), l, netip.MustParseAddrPort(to)) }()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if to == service {
				io.WriteString(c, "\x16\x03 no header, no TLS")
				_ = c.(*net.TCPConn).CloseWrite()
			}
			got, _ := io.ReadAll(c)
			if want := map[bool]string{true: "welcome \x16\x03 no header, no TLS"}[to == service]; string(got) != want {
				t.Errorf("it heard %q, want %q", got, want)
			}
			held, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			_, _ = io.Copy(io.Discard, held) // its connections have ended, too
			if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
				t.Error("the relay still listens")
			}
		})
	}
}
