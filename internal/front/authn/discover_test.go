package authn

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestMetadataAreWhereTheStandardsPutThem(t *testing.T) {
	for issuer, want := range map[string][]string{
		"https://i.example":      {"https://i.example/.well-known/oauth-authorization-server", "https://i.example/.well-known/openid-configuration"},
		"https://i.example/":     {"https://i.example/.well-known/oauth-authorization-server", "https://i.example/.well-known/openid-configuration"},
		"https://i.example:8/a/": {"https://i.example:8/.well-known/oauth-authorization-server/a", "https://i.example:8/.well-known/openid-configuration/a", "https://i.example:8/a/.well-known/openid-configuration"},
	} {
		if got := metadataOf(issuer); !slices.Equal(got, want) {
			t.Errorf("%s: %q", issuer, got)
		}
	}
}

func TestDiscovery(t *testing.T) {
	documents := map[string]string{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc, ok := documents[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(doc, "$", "https://"+r.Host))
	}))
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	f := newFetcher(pool)
	const rfc8414, oidc = "/.well-known/oauth-authorization-server/a", "/a/.well-known/openid-configuration"
	for name, c := range map[string]struct {
		documents  map[string]string
		want, fail string
	}{
		"RFC 8414":                     {map[string]string{rfc8414: `{"issuer":"$/a","jwks_uri":"$/k"}`, oidc: "{}"}, s.URL + "/k", ""},
		"OpenID Connect":               {map[string]string{oidc: `{"issuer":"$/a","jwks_uri":"https://keys.example/k"}`}, "https://keys.example/k", ""},
		"nowhere":                      {nil, "", "no such document"},
		"about another issuer":         {map[string]string{rfc8414: `{"issuer":"$","jwks_uri":"$/k"}`}, "", "another issuer"},
		"the first is what counts":     {map[string]string{rfc8414: `{"issuer":"$/b","jwks_uri":"$/k"}`, oidc: `{"issuer":"$/a","jwks_uri":"$/k"}`}, "", "another issuer"},
		"keys over http":               {map[string]string{rfc8414: `{"issuer":"$/a","jwks_uri":"http://keys.example/k"}`}, "", "https://"},
		"keys over http, this machine": {map[string]string{rfc8414: `{"issuer":"$/a","jwks_uri":"http://127.0.0.1:1/k"}`}, "", "https://"},
		"keys in a file":               {map[string]string{rfc8414: `{"issuer":"$/a","jwks_uri":"file:///etc/passwd"}`}, "", "https://"},
		"no keys":                      {map[string]string{rfc8414: `{"issuer":"$/a"}`}, "", "https://"},
	} {
		documents = c.documents
		got, err := f.discover(t.Context(), s.URL+"/a")
		if got != c.want || (c.fail == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
