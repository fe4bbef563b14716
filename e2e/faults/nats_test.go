//go:build linux && !race

package faults

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// nats is one nats-server.
type nats struct {
	process
	store, conf string
}

// monitors is the port at which a server tells about itself.
const monitors = 8222

// cluster starts three servers that know each other, by the configurations that
// "tipstaff engine config" prints for members.
func (f *fleet) cluster(binary string, members []string) (all []*nats) {
	f.t.Helper()
	f.write("cluster.secret", newID("")+newID(""))
	for i := 1; i <= 3; i++ {
		n := f.server(binary, f.lan.machine(fmt.Sprintf("n%d", i), i))
		n.configure(f, members, n.on.addr)
		n.start()
		all = append(all, n)
	}
	for _, n := range all {
		eventually(f.t, n.on.name+" listens", time.Minute, n.listens, func() string { return n.tail(20) })
	}
	return all
}

// server makes the directories of a server on a machine.
func (f *fleet) server(binary string, m *machine) *nats {
	f.t.Helper()
	home := f.directory(m.name)
	store := filepath.Join(home, "store")
	must(f.t, os.MkdirAll(store, 0o700))
	// A disk of its own, so that it can be full; of three quarters of it the
	// server makes use, and it sets aside 256 MB for claims alone.
	must(f.t, unix.Mount("faults", store, "tmpfs", 0, "size=640m"))
	f.t.Cleanup(func() { _ = unix.Unmount(store, unix.MNT_DETACH) })
	conf := filepath.Join(home, "nats.conf")
	return &nats{process{t: f.t, on: m, argv: []string{binary, "-c", conf, "-m", strconv.Itoa(monitors)}, dir: home, log: filepath.Join(home, "log")}, store, conf}
}

// configure writes the configuration that an operator would print, with further
// flags. Its certificate is for the address at.
func (n *nats) configure(f *fleet, members []string, at string, more ...string) {
	f.t.Helper()
	m := n.on
	flags := []string{
		"engine", "config", "--name", m.name, "--listen", m.addr + ":4222", "--store", n.store,
		"--cluster", "faults", "--cluster-listen", m.addr + ":6222", "--cluster-secret", f.clusterSecret(),
	}
	for other := 1; other <= 3; other++ {
		if addr := fmt.Sprintf("10.77.0.%d", other); addr != m.addr {
			flags = append(flags, "--route", "nats://"+addr+":6222")
		}
	}
	if f.authority != nil {
		cert, key := f.authority.Server(f.t, m.name, at)
		flags = append(flags, "--tls-cert", cert, "--tls-key", key, "--tls-ca", f.authority.File)
	}
	text, err := exec.Command(f.bin, slices.Concat(flags, members, more)...).Output()
	must(f.t, err)
	must(f.t, os.WriteFile(n.conf, text, 0o600))
}

// ask asks a server about itself.
func (n *nats) ask(what string, answer any) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(fmt.Sprintf("http://%s:%d/%s", n.on.addr, monitors, what))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return json.NewDecoder(resp.Body).Decode(answer)
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
