package engine_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tipstaff/internal/engine"
	"tipstaff/internal/engine/enginetest"
)

// pki is an authority and what it has signed.
type pki struct {
	dir, ca string
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	p := &pki{dir: t.TempDir()}
	var err error
	if p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	p.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	p.ca = p.write(t, "ca.pem", p.cert, p.key.Public())
	return p
}

// pair writes a certificate and its key, for a server or for a client.
func (p *pki) pair(t *testing.T, name string, server bool) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if server {
		c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	cert = p.write(t, name+".pem", c, k.Public())
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	key = filepath.Join(p.dir, name+".key")
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (p *pki) write(t *testing.T, name string, c *x509.Certificate, public any) string {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, p.cert, public, p.key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(p.dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBothSidesShowCertificatesAndSpeakTLS13(t *testing.T) {
	t.Parallel()
	ours, foreign := newPKI(t), newPKI(t)
	seed, public := seedFile(t)
	serverCert, serverKey := ours.pair(t, "server", true)
	text, err := engine.ServerConfig{
		Listen: "127.0.0.1:4222", Store: t.TempDir(), TLSCert: serverCert, TLSKey: serverKey, TLSCA: ours.ca,
		Members: []engine.Member{{Roles: []engine.Role{engine.Runner}, Name: "r1", Key: public}},
	}.Text()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := enginetest.StartFile(t, file)
	cert, key := ours.pair(t, "r1", false)
	strangeCert, strangeKey := foreign.pair(t, "r1", false)
	good := engine.Options{Servers: []string{s.URL()}, Role: engine.Runner, Name: "r1", Credentials: seed, CA: ours.ca, Cert: cert, Key: key}
	for name, tt := range map[string]struct {
		change func(o *engine.Options)
		want   string
	}{
		"with certificate and key":            {func(*engine.Options) {}, ""},
		"without a certificate":               {func(o *engine.Options) { o.Cert, o.Key = "", "" }, "cannot be reached"},
		"with one of another authority":       {func(o *engine.Options) { o.Cert, o.Key = strangeCert, strangeKey }, "cannot be reached"},
		"to a server of another authority":    {func(o *engine.Options) { o.CA = foreign.ca }, "unknown authority"},
		"with a certificate, without the key": {func(o *engine.Options) { o.Credentials = "" }, "uthorization"},
	} {
		o := good
		tt.change(&o)
		c, err := engine.Connect(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		bound := 2 * time.Second
		if tt.want == "" {
			bound = 20 * time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		err = c.Wait(ctx)
		cancel()
		c.Close()
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}

	pool := x509.NewCertPool()
	pool.AddCert(mustRead(t, ours.ca))
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
