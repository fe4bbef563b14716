package seccomp

import (
	"errors"
	"syscall"
	"testing"
)

// TestWhichPairsStayPairs shows why the filter tells the types of pairs apart:
// what a pair of datagram sockets can do, and the allowed ones cannot.
func TestWhichPairsStayPairs(t *testing.T) {
	t.Chdir(t.TempDir()) // an address is short
	for name, c := range map[string]struct {
		kind int
		want error
	}{
		"stream":   {syscall.SOCK_STREAM, syscall.EISCONN},
		"packet":   {syscall.SOCK_SEQPACKET, syscall.EISCONN},
		"datagram": {syscall.SOCK_DGRAM, nil},
	} {
		t.Run(name, func(t *testing.T) {
			address := &syscall.SockaddrUnix{Name: name}
			service, err := syscall.Socket(syscall.AF_UNIX, c.kind, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Close(service)
			if err := syscall.Bind(service, address); err != nil {
				t.Fatal(err)
			}
			if c.kind != syscall.SOCK_DGRAM {
				if err := syscall.Listen(service, 1); err != nil {
					t.Fatal(err)
				}
			}
			pair, err := syscall.Socketpair(syscall.AF_UNIX, c.kind, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Close(pair[0])
			if err := syscall.Connect(pair[0], address); !errors.Is(err, c.want) {
				t.Errorf("connecting to a service: %v, want %v", err, c.want)
			}
			if err := syscall.Close(pair[1]); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Connect(pair[0], address); !errors.Is(err, c.want) {
				t.Errorf("and when the twin is gone: %v, want %v", err, c.want)
			}
		})
	}
}
