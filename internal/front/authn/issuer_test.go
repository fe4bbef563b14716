package authn

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Keys are made once, because an RSA key takes long to make.
var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSA = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	edKey    = sync.OnceValue(func() ed25519.PrivateKey { _, k, err := ed25519.GenerateKey(rand.Reader); return must(k, err) })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const audience = "https://tools.example.com/mcp"

// realm is a working issuer: a server over HTTPS with metadata and keys.
type realm struct {
	*httptest.Server
	t    *testing.T
	path string // of the issuer, "" for the root

	keyQuestions atomic.Int32
	mu           sync.Mutex
	jwks         []any // as they are published
	broken       http.HandlerFunc
	clock        time.Time
}

func newRealm(t *testing.T) *realm {
	r := &realm{t: t, path: "/realms/dev", clock: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	r.publish(public("rsa", rsaKey()), public("ec", ecKey()), public("ed", edKey()))
	mux := http.NewServeMux()
	mux.HandleFunc("/realms/dev/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": r.issuer(), "jwks_uri": r.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, req *http.Request) {
		r.keyQuestions.Add(1)
		r.mu.Lock()
		broken, keys := r.broken, r.jwks
		r.mu.Unlock()
		if broken != nil {
			broken(w, req)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys})
	})
	r.Server = httptest.NewTLSServer(mux)
	t.Cleanup(r.Close)
	return r
}

func (r *realm) issuer() string { return r.URL + r.path }

func (r *realm) publish(keys ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jwks = keys
}

func (r *realm) fail(h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = h
}

func (r *realm) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock
}

func (r *realm) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = r.clock.Add(d)
}

func public(kid string, key crypto.Signer) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key.Public(), KeyID: kid, Use: "sig"}
}

// trusted are the options of a server that takes the realm's tokens.
func (r *realm) trusted() Issuer {
	pool := x509.NewCertPool()
	pool.AddCert(r.Certificate())
	return Issuer{URL: r.issuer(), Audience: audience, Roots: pool}
}

func (r *realm) gate(i Issuer) *Gate {
	r.t.Helper()
	g, err := New(Options{Issuer: i, Now: r.now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

// claims are those of a good token.
func (r *realm) claims() map[string]any {
	return map[string]any{
		"iss": r.issuer(), "aud": audience, "sub": "user-1", "scope": "openid execute tipstaff:read",
		"exp": r.now().Add(time.Minute).Unix(), "nbf": r.now().Unix(), "iat": r.now().Unix(), "client_id": "agent",
	}
}

func with(claims map[string]any, name string, value any) map[string]any {
	if value == nil {
		delete(claims, name)
	} else {
		claims[name] = value
	}
	return claims
}

// sign makes a token as the library of an issuer does.
func sign(t testing.TB, alg jose.SignatureAlgorithm, kid string, key any, claims map[string]any, header map[string]any) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("at+jwt")
	if kid != "" {
		o.WithHeader("kid", kid)
	}
	for name, value := range header {
		o.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := signer.Sign(must(json.Marshal(claims)))
	if err != nil {
		t.Fatal(err)
	}
	return must(sig.CompactSerialize())
}

// craft makes a token that no library would make.
func craft(header, claims map[string]any, signature []byte) string {
	part := func(v any) string { return base64.RawURLEncoding.EncodeToString(must(json.Marshal(v))) }
	return part(header) + "." + part(claims) + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (r *realm) good() string {
	return sign(r.t, jose.RS256, "rsa", rsaKey(), r.claims(), nil)
}

// by asks a gate about a token.
func by(g *Gate, token string) (Principal, error) {
	return g.Authenticate(request("/mcp", "Bearer "+token).WithContext(context.Background()))
}

// weakRSA is a key that no issuer should have.
func weakRSA() *rsa.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), 1023)
	return &rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537}
}
