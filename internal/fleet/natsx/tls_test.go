package natsx_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
	"tipstaff/internal/testing/testpki"
)

func TestBothSidesShowCertificatesAndSpeakTLS13(t *testing.T) {
	t.Parallel()
	ours, foreign := testpki.New(t, t.TempDir()), testpki.New(t, t.TempDir())
	seed, public := seedFile(t)
	serverCert, serverKey := ours.Server(t, "server", "127.0.0.1")
	text, err := natsx.ServerConfig{
		Listen: "127.0.0.1:4222", Store: t.TempDir(), TLSCert: serverCert, TLSKey: serverKey, TLSCA: ours.File,
		Members: []natsx.Member{{Roles: []natsx.Role{natsx.Runner}, Name: "r1", Key: public}},
	}.Text()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := enginetest.StartFile(t, file)
	cert, key := ours.Client(t, "r1")
	strangeCert, strangeKey := foreign.Client(t, "r1")
	good := natsx.Options{Servers: []string{s.URL()}, Role: natsx.Runner, Name: "r1", Credentials: seed, CA: ours.File, Cert: cert, Key: key}
	for name, tt := range map[string]struct {
		change func(o *natsx.Options)
		want   string
	}{
		"with certificate and key":            {func(*natsx.Options) {}, ""},
		"without a certificate":               {func(o *natsx.Options) { o.Cert, o.Key = "", "" }, "cannot be reached"},
		"with one of another authority":       {func(o *natsx.Options) { o.Cert, o.Key = strangeCert, strangeKey }, "cannot be reached"},
		"to a server of another authority":    {func(o *natsx.Options) { o.CA = foreign.File }, "unknown authority"},
		"with a certificate, without the key": {func(o *natsx.Options) { o.Credentials = "" }, "uthorization"},
	} {
		o := good
		tt.change(&o)
		c, err := natsx.Connect(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		bound := 2 * time.Second
		if tt.want == "" {
			bound = 20 * time.Second
		}
		err = waited(t, c, bound, tt.want)
		c.Close()
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}

	pool := x509.NewCertPool()
	pool.AddCert(mustRead(t, ours.File))
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	option, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	for version, taken := range map[uint16]bool{tls.VersionTLS12: false, tls.VersionTLS13: true} {
		nc, err := nats.Connect(s.URL(), option, nats.Secure(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MaxVersion: version})) // that it is refused is what is tested
		if err == nil {
			nc.Close()
		}
		if (err == nil) != taken {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}

func mustRead(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
