//go:build linux && !race

package faults

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/engine"
)

// nats is one nats-server.
type nats struct {
	process
	store string
}

// cluster starts three servers that know each other, by the configuration that
// operators have of "tipstaff engine config". The members are their users.
func (l *lan) cluster(t *testing.T, binary, dir string, members []engine.Member) []*nats {
	t.Helper()
	var all []*nats
	var routes []string
	for i := 1; i <= 3; i++ {
		routes = append(routes, fmt.Sprintf("nats://10.77.0.%d:6222", i))
	}
	for i := 1; i <= 3; i++ {
		m := l.machine(fmt.Sprintf("n%d", i), i)
		home := filepath.Join(dir, m.name)
		store := filepath.Join(home, "store")
		must(t, os.MkdirAll(store, 0o700))
		// A disk of its own, so that it can be full; of three quarters of it the
		// server makes use, and it sets aside 256 MB for claims alone.
		must(t, unix.Mount("faults", store, "tmpfs", 0, "size=640m"))
		t.Cleanup(func() { _ = unix.Unmount(store, unix.MNT_DETACH) })
		conf := filepath.Join(home, "nats.conf")
		text, err := engine.ServerConfig{
			Name: m.name, Listen: m.addr + ":4222", Store: store, Members: members,
			Cluster: "faults", ClusterListen: m.addr + ":6222", Routes: routes,
		}.Text()
		must(t, err)
		must(t, os.WriteFile(conf, []byte(text), 0o600))
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
	block := make([]byte, 1<<20)
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
