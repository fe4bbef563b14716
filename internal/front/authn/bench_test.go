package authn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// BenchmarkAuthenticate is what every request pays.
func BenchmarkAuthenticate(b *testing.B) {
	token := NewToken()
	path := filepath.Join(b.TempDir(), "tokens.yaml")
	named, r, err := NewTokenRow("ci", []string{"read"}, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	if err := AppendToken(path, r); err != nil {
		b.Fatal(err)
	}
	hour := time.Now().Add(-time.Hour) // a file that changed just now is read each time
	if err := os.Chtimes(path, hour, hour); err != nil {
		b.Fatal(err)
	}
	g, err := New(Options{Token: token, TokensFile: path})
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	g.issuer = &issuer{
		Issuer: Issuer{URL: "https://i.example", Audience: audience}, algs: asymmetric, now: time.Now, name: "oauth:i.example|",
		keys: &keys{now: time.Now, set: []jose.JSONWebKey{public("ec", ecKey()), public("rsa", rsaKey()), public("ed", edKey())}, fetched: now, tried: now},
	}
	claims := map[string]any{"iss": "https://i.example", "aud": audience, "sub": "s", "exp": 1 << 40, "scope": "execute"}
	for name, header := range map[string]string{
		"token": token, "named": named, "RS256": sign(b, jose.RS256, "rsa", rsaKey(), claims, nil),
		"ES256": sign(b, jose.ES256, "ec", ecKey(), claims, nil), "EdDSA": sign(b, jose.EdDSA, "ed", edKey(), claims, nil),
		"wrong": strings.Repeat("x", 60),
	} {
		b.Run(name, func(b *testing.B) {
			req := request("/mcp", "Bearer "+header)
			for b.Loop() {
				if _, err := g.Authenticate(req); (err == nil) == (name == "wrong") {
					b.Fatal(err)
				}
			}
		})
	}
}
