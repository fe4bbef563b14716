package enginetest

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Cluster starts three servers that ask for no key and keep everything three times,
// on the disk before they acknowledge it, as "tipstaff engine config" has servers do.
// It returns once they know each other; JetStream is there when they have elected a
// leader.
func Cluster(t testing.TB) []*Server {
	t.Helper()
	const size = 3
	ports := make([]int, size)
	var routes []*url.URL
	for i := range ports {
		ports[i] = free(t)
		routes = append(routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i]))})
	}
	var all []*Server
	for i, port := range ports {
		all = append(all, start(t, &server.Options{
			ServerName: fmt.Sprintf("n%d", i+1), Routes: routes, SyncAlways: true,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
		}))
	}
	for _, s := range all {
		for limit := time.Now().Add(20 * time.Second); s.srv.NumRemotes() < size-1; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("the NATS server %s knows %d others after 20 seconds", s.opts.ServerName, s.srv.NumRemotes())
			}
		}
	}
	return all
}

// free is a port that nothing listens at. Servers of a cluster have to know each
// other's before they start.
func free(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	a, tcp := l.Addr().(*net.TCPAddr)
	if !tcp {
		t.Fatalf("a listener at %v", l.Addr())
	}
	return a.Port
}
