//go:build unix && !race

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	a := authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// issue makes a certificate and its key, both in PEM.
func (a authority) issue(serial int64, ends time.Time, change func(*x509.Certificate)) (cert, key []byte) {
	a.t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: ends}
	change(template)
	private := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	bare, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return inPEM("CERTIFICATE", der), inPEM("PRIVATE KEY", bare)
}

func forServer(c *x509.Certificate) {
	c.IPAddresses, c.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost", "tools.example.com"}
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
}

// client returns the certificate of an agent with this name.
func (a authority) client(name string) tls.Certificate {
	a.t.Helper()
	cert, key := a.issue(7, time.Now().Add(time.Hour), func(c *x509.Certificate) {
		u, err := url.Parse(name)
		if err != nil {
			a.t.Fatal(err)
		}
		c.URIs, c.ExtKeyUsage = []*url.URL{u}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	})
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

// serverFiles writes a server's certificate and key where it looks for them, as
// tools that renew certificates do.
func (a authority) serverFiles(dir string, serial int64, ends time.Time) (env []string) {
	a.t.Helper()
	cert, key := a.issue(serial, ends, forServer)
	for name, data := range map[string][]byte{"tls.key": key, "tls.crt": cert} {
		put(a.t, filepath.Join(dir, name), data)
	}
	return []string{"TIPSTAFF_TLS_CERT_FILE=" + filepath.Join(dir, "tls.crt"), "TIPSTAFF_TLS_KEY_FILE=" + filepath.Join(dir, "tls.key")}
}

// put replaces a file atomically.
func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// trusting makes the server's clients speak TLS, and trust an authority.
func (w *webServer) trusting(a authority, pairs ...tls.Certificate) *webServer {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	over := *w
	over.url = "https" + w.url[len("http"):]
	over.base = &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: pairs, MinVersion: tls.VersionTLS13}}
	return &over
}

func say(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// issuer is an authorization server that publishes its keys over HTTPS.
type issuer struct {
	*httptest.Server

	t    *testing.T
	mux  *http.ServeMux
	mu   sync.Mutex
	keys map[string]*ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	mux := http.NewServeMux()
	i := &issuer{t: t, mux: mux, keys: map[string]*ecdsa.PrivateKey{"first": newKey(t)}}
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		say(w, map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		var all []any
		for kid, key := range i.keys {
			point, err := key.PublicKey.Bytes()
			if err != nil {
				t.Error(err)
			}
			all = append(all, map[string]any{"kty": "EC", "crv": "P-256", "use": "sig", "kid": kid, "x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:])})
		}
		say(w, map[string]any{"keys": all})
	})
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	return i
}

// token makes a valid access token of this issuer, apart from the given
// changes.
func (i *issuer) token(kid string, key *ecdsa.PrivateKey, change map[string]any) string {
	i.t.Helper()
	claims := map[string]any{"iss": i.URL, "aud": toolsURL, "sub": "user-1", "scope": "execute", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "client_id": "agent"}
	maps.Copy(claims, change)
	part := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			i.t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	if key == nil {
		return part(map[string]any{"alg": "none", "typ": "at+jwt"}) + "." + part(claims) + "."
	}
	signed := part(map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": kid}) + "." + part(claims)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		i.t.Fatal(err)
	}
	both := make([]byte, 64)
	r.FillBytes(both[:32])
	s.FillBytes(both[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(both)
}

// rotate publishes a new key in place of the earlier ones.
func (i *issuer) rotate(kid string) *ecdsa.PrivateKey {
	key := newKey(i.t)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = map[string]*ecdsa.PrivateKey{kid: key}
	return key
}
