//go:build linux && !race

package faults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// nats is one nats-server.
type nats struct {
	process
	store string
}

// cluster starts three servers that know each other, by the configurations that
// "tipstaff engine config" prints for members.
func (f *fleet) cluster(binary string, members []string) (all []*nats) {
	t := f.t
	t.Helper()
	for i := 1; i <= 3; i++ {
		m := f.lan.machine(fmt.Sprintf("n%d", i), i)
		home := filepath.Join(f.dir, m.name)
		store := filepath.Join(home, "store")
		must(t, os.MkdirAll(store, 0o700))
		// A disk of its own, so that it can be full; of three quarters of it the
		// server makes use, and it sets aside 256 MB for claims alone.
		must(t, unix.Mount("faults", store, "tmpfs", 0, "size=640m"))
		t.Cleanup(func() { _ = unix.Unmount(store, unix.MNT_DETACH) })
		flags := append([]string{"engine", "config", "--name", m.name, "--listen", m.addr + ":4222", "--store", store, "--cluster", "faults", "--cluster-listen", m.addr + ":6222"}, members...)
		for other := 1; other <= 3; other++ {
			if other != i {
				flags = append(flags, "--route", fmt.Sprintf("nats://10.77.0.%d:6222", other))
			}
		}
		text, err := exec.Command(f.bin, flags...).Output()
		must(t, err)
		conf := filepath.Join(home, "nats.conf")
		must(t, os.WriteFile(conf, text, 0o600))
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
