package authn

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(name string) authority {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return authority{must(x509.ParseCertificate(der)), key}
}

func (a authority) pem() []byte { return certPEM(a.cert.Raw) }

func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// issue makes a certificate and its key, both in PEM.
func (a authority) issue(change func(*x509.Certificate)) (cert, key []byte) {
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: must(rand.Int(rand.Reader, big.NewInt(1<<62))), Subject: pkix.Name{CommonName: "agent"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	change(template)
	der := must(x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key))
	return certPEM(der), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(private))})
}

func (a authority) client(change func(*x509.Certificate)) *tls.Certificate {
	pair := must(tls.X509KeyPair(a.issue(change)))
	return &pair
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func forServer(serial int64) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.SerialNumber = big.NewInt(serial)
		c.DNSNames = []string{"localhost"}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
}

func uri(s string) *url.URL { return must(url.Parse(s)) }

// files are what a server with TLS is given.
type files struct{ cert, key, ca string }

func newFiles(t *testing.T, server, clients authority) files {
	t.Helper()
	dir := t.TempDir()
	f := files{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")}
	f.renew(t, server, forServer(1))
	write(t, f.ca, string(clients.pem()), 0o644)
	return f
}

// renew puts another pair in place, as tools for it do.
func (f files) renew(t *testing.T, a authority, change func(*x509.Certificate)) {
	t.Helper()
	cert, key := a.issue(change)
	write(t, f.key+".new", string(key), 0o600)
	write(t, f.cert+".new", string(cert), 0o644)
	for _, path := range []string{f.key, f.cert} {
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}
