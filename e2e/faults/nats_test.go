//go:build linux && !race

package faults

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// nats is one nats-server.
type nats struct {
	process
	store string
}

// cluster starts three servers that know each other. common is what all their
// configurations hold besides: users and permissions.
func (l *lan) cluster(t *testing.T, binary, dir, common string) []*nats {
	t.Helper()
	var all []*nats
	var routes []string
	for i := 1; i <= 3; i++ {
		routes = append(routes, fmt.Sprintf("nats-route://10.77.0.%d:6222", i))
	}
	for i := 1; i <= 3; i++ {
		m := l.machine(fmt.Sprintf("n%d", i), i)
		home := filepath.Join(dir, m.name)
		store := filepath.Join(home, "store")
		must(t, os.MkdirAll(store, 0o700))
		// A disk of its own, so that it can be full.
		must(t, unix.Mount("faults", store, "tmpfs", 0, "size=64m"))
		t.Cleanup(func() { _ = unix.Unmount(store, unix.MNT_DETACH) })
		conf := filepath.Join(home, "nats.conf")
		must(t, os.WriteFile(conf, fmt.Appendf(nil, `
server_name: %[1]s
listen: %[2]s:4222
ping_interval: "2s"
ping_max: 2
write_deadline: "5s"
jetstream { store_dir: %[3]q, max_file_store: 4GB, max_memory_store: 8MB, sync_interval: always }
cluster { name: faults, listen: "%[2]s:6222", ping_interval: "2s", routes: [%[4]s] }
%[5]s
`, m.name, m.addr, store, strings.Join(routes, ", "), common), 0o600))
		n := &nats{process{t: t, on: m, argv: []string{binary, "-c", conf}, dir: home, log: filepath.Join(home, "log")}, store}
		n.start()
		all = append(all, n)
	}
	for _, n := range all {
		eventually(t, n.on.name+" listens", time.Minute, n.listens, func() string { return n.tail(20) })
	}
	return all
}

func (n *nats) listens() bool {
	c, err := net.DialTimeout("tcp", n.on.addr+":4222", time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// fill leaves nothing free on the disk of a server.
func (n *nats) fill() {
	f, err := os.Create(filepath.Join(n.store, "ballast"))
	must(n.t, err)
	defer func() { _ = f.Close() }()
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(block)
	}
}

// empty ends what fill began.
func (n *nats) empty() { must(n.t, os.Remove(filepath.Join(n.store, "ballast"))) }

// eventually waits for a condition; details describe a failure.
func eventually(t testing.TB, what string, within time.Duration, is func() bool, details func() string) {
	t.Helper()
	for limit := time.Now().Add(within); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not within %v: %s\n%s", within, what, details())
		}
	}
}
