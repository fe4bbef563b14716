//go:build linux && !race

package faults

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/testing/testpki"
)

// attempt connects as the auditor to one server, and returns why it is not connected
// to that one: what the connection logged.
func attempt(t *testing.T, o natsx.Options, within time.Duration) (says string, ok bool) {
	t.Helper()
	var log lines
	o.Role, o.Name, o.Log = natsx.Auditor, "auditor", slog.New(slog.NewTextHandler(&log, nil))
	c, err := natsx.Connect(t.Context(), o)
	must(t, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	err = c.Wait(ctx)
	// A server tells of its peers before it shows who it is, so the connection may
	// have gone on to one of them.
	return log.String(), err == nil && c.Server() == o.Servers[0]
}

// lines is what was written, also while something still writes.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestOnlyThoseWhoAreSignedTakePart: servers and members show each other certificates
// of one authority, for their own addresses, and a server also the secret of the
// cluster. Each attempt without one of these has a control that is like it otherwise.
func TestOnlyThoseWhoAreSignedTakePart(t *testing.T) {
	needNamespaces(t)
	notOfTheSix(t)
	bin := natsServer(t)
	f := &fleet{t: t, dir: t.TempDir(), bin: tipstaff(t), lan: newLAN(t)}
	f.secure()
	members := f.keys()
	all := f.cluster(bin, members)
	defer func() {
		for _, n := range all {
			n.stop(20 * time.Second)
		}
	}()
	cert, key := f.authority.Client(t, "auditor")
	strangeCert, strangeKey := testpki.New(t, f.directory("foreign")).Client(t, "auditor")
	good := natsx.Options{Servers: []string{"tls://10.77.0.1:4222"}, Credentials: filepath.Join(f.dir, "auditor.nk"), CA: f.authority.File, Cert: cert, Key: key}

	for _, c := range []struct {
		name   string
		change func(o *natsx.Options)
		told   string // to the member, or
		logged string // by the server
	}{
		{"a member without a certificate", func(o *natsx.Options) { o.Cert, o.Key = "", "" }, "", "client didn't provide a certificate"},
		{"a member with a certificate of another authority", func(o *natsx.Options) { o.Cert, o.Key = strangeCert, strangeKey }, "", "certificate signed by unknown authority"},
		{"a member with a certificate and no key of an nkey", func(o *natsx.Options) { o.Credentials = "" }, "uthorization", ""},
		{"a member that speaks in the clear", func(o *natsx.Options) {
			o.Servers, o.CA, o.Cert, o.Key = []string{"nats://10.77.0.1:4222"}, "", "", ""
		}, "", "TLS handshake error"},
	} {
		before := all[0].count(c.logged)
		o := good
		c.change(&o)
		if says, ok := attempt(t, o, 3*time.Second); ok || !strings.Contains(says, c.told) {
			t.Errorf("%s: connected %v, and the log says\n%s", c.name, ok, says)
		}
		if c.logged != "" && all[0].count(c.logged) == before {
			t.Errorf("%s: the server does not say %q\n%s", c.name, c.logged, all[0].tail(5))
		}
		if says, ok := attempt(t, good, 20*time.Second); !ok {
			t.Errorf("after %s, one with everything:\n%s", c.name, says)
		}
	}
	f.wrongNames(bin, members, good)
	f.wrongSecrets(members, all[0])
}

// wrongNames: members do not believe a server whose certificate is for another address.
func (f *fleet) wrongNames(bin string, members []string, good natsx.Options) {
	t := f.t
	fourth := f.server(bin, f.lan.machine("n4", 4))
	good.Servers = []string{"tls://10.77.0.4:4222"}
	const hangsUp = "TLS handshake error: remote error: tls: bad certificate" // what n4 hears of it
	for at, believed := range map[string]bool{"10.77.0.9": false, "10.77.0.4": true} {
		fourth.configure(f, members, at)
		fourth.start()
		eventually(t, "n4 listens", time.Minute, fourth.listens, func() string { return fourth.tail(20) })
		within := 3 * time.Second
		if believed {
			within = 20 * time.Second
		}
		before := fourth.count(hangsUp)
		if says, ok := attempt(t, good, within); ok != believed || (fourth.count(hangsUp) > before) == believed {
			t.Errorf("a member at a server whose certificate is for %s: connected %v\n%s\n%s", at, ok, says, fourth.tail(10))
		}
		fourth.stop(20 * time.Second)
	}
	f.engine = append(f.engine, fourth)
}

// wrongSecrets: with the certificate of a runner, as one who has stolen it has, and
// without the secret, a server does not come into the cluster, where it could read
// and write everything. With the secret it does.
func (f *fleet) wrongSecrets(members []string, first *nats) {
	t := f.t
	fourth := f.engine[len(f.engine)-1]
	cert, key := f.authority.Client(t, "r1")
	stolen := []string{"--tls-cert", cert, "--tls-key", key}
	guess := f.write("guessed.secret", strings.Repeat("guess", 8))
	for secret, comes := range map[string]bool{guess: false, f.clusterSecret(): true} {
		fourth.configure(f, members, fourth.on.addr, append(stolen, "--cluster-secret", secret)...)
		refused := first.count(`authentication error - User "servers"`)
		fourth.start()
		if comes {
			eventually(t, "n4 is in the cluster", 30*time.Second, func() bool { return first.knows("n4") }, func() string { return fourth.tail(10) })
		} else {
			eventually(t, "n1 refuses n4", 30*time.Second, func() bool { return first.count(`authentication error - User "servers"`) > refused }, func() string { return first.tail(10) })
			if first.knows("n4") {
				t.Error("a server that does not know the secret is in the cluster")
			}
		}
		fourth.stop(20 * time.Second)
	}
}

// knows reports whether a server has a route to another.
func (n *nats) knows(other string) bool {
	var answer struct {
		Routes []struct {
			Name string `json:"remote_name"`
		}
	}
	must(n.t, n.ask("routez", &answer))
	for _, r := range answer.Routes {
		if r.Name == other {
			return true
		}
	}
	return false
}

// TestARouteNeedsNoKeyWithoutASecret is the control of the one above: with the secret
// taken out of the configurations, a server that has nothing but the address comes in.
func TestARouteNeedsNoKeyWithoutASecret(t *testing.T) {
	needNamespaces(t)
	notOfTheSix(t)
	bin := natsServer(t)
	f := &fleet{t: t, dir: t.TempDir(), bin: tipstaff(t), lan: newLAN(t)}
	f.write("cluster.secret", newID("")+newID(""))
	members := f.keys()
	var both []*nats
	for i := 3; i <= 4; i++ { // n4 dials n3
		n := f.server(bin, f.lan.machine(fmt.Sprintf("n%d", i), i))
		n.configure(f, members, n.on.addr)
		n.forget()
		n.start()
		both = append(both, n)
	}
	eventually(t, "n4 is in the cluster", time.Minute, func() bool { return both[0].listens() && both[0].knows("n4") }, func() string { return both[1].tail(10) })
	for _, n := range both {
		n.stop(20 * time.Second)
	}
}
