package authn

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve puts a gate behind TLS; the answer is the principal's name.
func serve(t *testing.T, config *tls.Config, g *Gate) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := g.Authenticate(r)
		var refusal *Refusal
		if errors.As(err, &refusal) {
			w.WriteHeader(refusal.Status)
			return
		}
		_, _ = io.WriteString(w, who.Name)
	}))
	s.TLS = config
	s.EnableHTTP2 = true
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// caller makes a client with connections of its own.
func caller(s *httptest.Server, server authority, cert *tls.Certificate) *http.Client {
	c := &tls.Config{RootCAs: server.pool(), ServerName: "localhost", MinVersion: tls.VersionTLS12}
	if cert != nil {
		// Sent even if the server does not trust its issuer.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
}

func ask(t *testing.T, s *httptest.Server, c *http.Client, header string) (status int, body string, err error) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", http.NoBody))
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

func newTLS(t *testing.T, f files, optional bool) *TLS {
	t.Helper()
	pair, err := NewTLS(TLSOptions{CertFile: f.cert, KeyFile: f.key, ClientCAFile: f.ca, Optional: optional})
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestClientCertificates: a client with a certificate of the authority is known
// by its name; the handshake of any other fails.
func TestClientCertificates(t *testing.T) {
	server, clients, strangers := newAuthority("server"), newAuthority("clients"), newAuthority("clients")
	g, err := New(Options{Clients: Clients{Scopes: []Scope{Read}}})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, newTLS(t, newFiles(t, server, clients), false).Config(), g)
	good := func(c *x509.Certificate) { c.URIs = append(c.URIs, uri("spiffe://example.org/agent")) }
	status, body, err := ask(t, s, caller(s, server, clients.client(good)), "")
	if err != nil || status != 200 || body != "cert:uri:spiffe://example.org/agent" {
		t.Errorf("%d %s, %v", status, body, err)
	}
	if status, _, err := ask(t, s, caller(s, server, clients.client(good)), "Bearer "+NewToken()); err != nil || status != 401 {
		t.Errorf("a wrong token is not rescued by a certificate: %d, %v", status, err)
	}
	for name, cert := range map[string]*tls.Certificate{
		"none":                      nil,
		"of another authority":      strangers.client(good),
		"expired":                   clients.client(func(c *x509.Certificate) { good(c); c.NotAfter = time.Now().Add(-time.Minute) }),
		"not yet valid":             clients.client(func(c *x509.Certificate) { good(c); c.NotBefore = time.Now().Add(time.Minute) }),
		"of a server, not a client": clients.client(func(c *x509.Certificate) { good(c); c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
	} {
		if status, body, err := ask(t, s, caller(s, server, cert), ""); err == nil {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestWhereCertificatesAreOptionalATokenWillDo(t *testing.T) {
	server, clients := newAuthority("server"), newAuthority("clients")
	token := NewToken()
	g, err := New(Options{Token: token, Clients: Clients{Scopes: []Scope{Read}}})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, newTLS(t, newFiles(t, server, clients), true).Config(), g)
	cert := clients.client(func(*x509.Certificate) {})
	for name, c := range map[string]struct {
		cert   *tls.Certificate
		header string
		status int
		body   string
	}{
		"a token":                     {nil, "Bearer " + token, 200, "token"},
		"a certificate":               {cert, "", 200, "cert:cn:agent"},
		"both, and the token decides": {cert, "Bearer " + token, 200, "token"},
		"neither":                     {nil, "", 401, ""},
	} {
		status, body, err := ask(t, s, caller(s, server, c.cert), c.header)
		if err != nil || status != c.status || body != c.body {
			t.Errorf("%s: %d %s, %v", name, status, body, err)
		}
	}
	if _, _, err := ask(t, s, caller(s, server, newAuthority("clients").client(func(*x509.Certificate) {})), "Bearer "+token); err == nil {
		t.Error("a certificate of another authority got through")
	}
}

func TestACertificateWithoutRulesForItIsNobody(t *testing.T) {
	server, clients := newAuthority("server"), newAuthority("clients")
	g, err := New(Options{Token: NewToken()})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, newTLS(t, newFiles(t, server, clients), false).Config(), g)
	if status, _, err := ask(t, s, caller(s, server, clients.client(func(*x509.Certificate) {})), ""); err != nil || status != 401 {
		t.Errorf("%d, %v", status, err)
	}
}

func TestOnlyTLS13(t *testing.T) {
	server := newAuthority("server")
	g, err := New(Options{Token: NewToken()})
	if err != nil {
		t.Fatal(err)
	}
	f := newFiles(t, server, server)
	f.ca = ""
	s := serve(t, newTLS(t, f, false).Config(), g)
	c := caller(s, server, nil)
	if status, _, err := ask(t, s, c, ""); err != nil || status != 401 {
		t.Errorf("%d, %v", status, err)
	}
	c.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS12
	if _, _, err := ask(t, s, c, ""); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("%v", err)
	}
}

// TestTheCertificateIsReadAgainUnderLoad: no connection fails meanwhile, and the
// next one gets the new certificate.
func TestTheCertificateIsReadAgainUnderLoad(t *testing.T) {
	server := newAuthority("server")
	token := NewToken()
	g, err := New(Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	f := newFiles(t, server, server)
	var logged bytes.Buffer
	pair, err := NewTLS(TLSOptions{CertFile: f.cert, KeyFile: f.key, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, pair.Config(), g)
	serial := func() int64 {
		t.Helper()
		resp, err := caller(s, server, nil).Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if status, body, err := ask(t, s, caller(s, server, nil), "Bearer "+token); err != nil || status != 200 || body != "token" {
					t.Errorf("%d %s, %v", status, body, err)
					return
				}
			}
		})
	}
	for i := int64(2); i < 8; i++ {
		f.renew(t, server, forServer(i))
		if got := serial(); got != i {
			t.Errorf("certificate %d, want %d", got, i)
		}
	}
	close(stop)
	wg.Wait()

	// A file that cannot be used changes nothing.
	logged.Reset()
	for name, spoil := range map[string]func(){
		"a key of another pair": func() { _, key := server.issue(forServer(9)); write(t, f.key, string(key), 0o600) },
		"no key":                func() { _ = os.Remove(f.key) },
		"an expired pair": func() {
			f.renew(t, server, func(c *x509.Certificate) { forServer(9)(c); c.NotAfter = time.Now().Add(-time.Minute) })
		},
		"a key for everybody": func() { f.renew(t, server, forServer(9)); write(t, f.key, string(must(os.ReadFile(f.key))), 0o604) },
	} {
		spoil()
		if got := serial(); got != 7 {
			t.Errorf("%s: certificate %d, want the last good one", name, got)
		}
		if !strings.Contains(logged.String(), "level=ERROR") || strings.Contains(logged.String(), "PRIVATE") {
			t.Errorf("%s: %s", name, logged.String())
		}
		logged.Reset()
	}
	f.renew(t, server, forServer(10))
	if got := serial(); got != 10 {
		t.Errorf("certificate %d, want 10", got)
	}
	if d := time.Until(pair.Expiry()); d < 55*time.Minute || d > time.Hour {
		t.Errorf("it ends in %v", d)
	}
}

// TestAnAuthorityThatIsRemovedIsNotBelieved: by the next connection, with no
// ticket of an earlier one.
func TestAnAuthorityThatIsRemovedIsNotBelieved(t *testing.T) {
	server, clients := newAuthority("server"), newAuthority("clients")
	g, err := New(Options{Clients: Clients{Scopes: []Scope{Read}}})
	if err != nil {
		t.Fatal(err)
	}
	f := newFiles(t, server, clients)
	s := serve(t, newTLS(t, f, false).Config(), g)
	c := caller(s, server, clients.client(func(*x509.Certificate) {}))
	c.Transport.(*http.Transport).TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	if status, _, err := ask(t, s, c, ""); err != nil || status != 200 {
		t.Fatalf("%d, %v", status, err)
	}
	resp, err := c.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.TLS.DidResume {
		t.Error("a connection was made by a ticket")
	}
	write(t, f.ca, string(newAuthority("others").pem()), 0o644)
	if status, _, err := ask(t, s, c, ""); err == nil {
		t.Errorf("it is still believed: %d", status)
	}
}

func TestFilesOfTLSThatCannotBeUsed(t *testing.T) {
	server := newAuthority("server")
	for name, c := range map[string]struct {
		spoil func(f *files)
		want  string
	}{
		"no certificate":      {func(f *files) { f.cert = "" }, "the certificate is missing"},
		"no key":              {func(f *files) { f.key = "" }, "the key of the certificate is missing"},
		"a missing file":      {func(f *files) { f.cert += "x" }, "no such file"},
		"a key others read":   {func(f *files) { _ = os.Chmod(f.key, 0o644) }, "tls.key can be read by other users; run: chmod 600"},
		"a cert others write": {func(f *files) { _ = os.Chmod(f.cert, 0o666) }, "tls.crt can be changed by other users"},
		"a CA others write":   {func(f *files) { _ = os.Chmod(f.ca, 0o622) }, "ca.crt can be changed by other users"},
		"a CA without one":    {func(f *files) { write(t, f.ca, "hello", 0o600) }, "no certificate in PEM"},
		"not a key":           {func(f *files) { write(t, f.key, "secret-words", 0o600) }, "tls.crt with the key "},
		"expired": {func(f *files) {
			f.renew(t, server, func(c *x509.Certificate) { forServer(1)(c); c.NotAfter = time.Now().Add(-time.Minute) })
		}, "has expired, on "},
	} {
		f := newFiles(t, server, server)
		c.spoil(&f)
		_, err := NewTLS(TLSOptions{CertFile: f.cert, KeyFile: f.key, ClientCAFile: f.ca})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret-words") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
