//go:build unix && !race

package e2e

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// grants is the part of an authorization server that people and clients use:
// the authorization code flow with PKCE (RFC 7636) and resource indicators (RFC
// 8707).
type grants struct {
	realm *issuer

	mu     sync.Mutex
	asked  []string              // the scopes of each flow, in order
	codes  map[string]url.Values // the request for each code
	faults []string
}

const redirect = "http://localhost:7777/back"

func (g *grants) fault(what string, r *http.Request) {
	g.faults = append(g.faults, what+": "+r.URL.String()+" "+r.Form.Encode())
}

// authorize grants every request, without a page.
func (g *grants) authorize(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("resource") != toolsURL || q.Get("redirect_uri") != redirect {
		g.fault("authorize", r)
	}
	code := base64.RawURLEncoding.EncodeToString([]byte{byte(len(g.codes))})
	g.codes[code] = q
	g.asked = append(g.asked, q.Get("scope"))
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	http.Redirect(w, r, redirect+"?"+back.Encode(), http.StatusFound)
}

// token grants what was requested, but the first time only the scope read.
func (g *grants) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		g.fault(err.Error(), r)
	}
	q, known := g.codes[r.Form.Get("code")]
	delete(g.codes, r.Form.Get("code"))
	sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	if !known || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || r.Form.Get("resource") != toolsURL {
		g.fault("token", r)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	scope := q.Get("scope")
	if len(g.asked) == 1 {
		scope = "read"
	}
	token := g.realm.token("first", g.realm.keys["first"], map[string]any{"scope": scope})
	say(w, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": scope})
}

// offerGrants adds the flow to an issuer.
func offerGrants(i *issuer) *grants {
	g := &grants{realm: i, codes: map[string]url.Values{}}
	i.mux.HandleFunc("GET /authorize", g.authorize)
	i.mux.HandleFunc("POST /token", g.token)
	return g
}

// TestAClientFindsItsWayToAToken: a client that knows only the server's address
// learns from the challenge and the metadata which issuer to ask, and asks for
// more when a tool needs more.
func TestAClientFindsItsWayToAToken(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, version string) {
		ca, realm := newAuthority(t, "servers"), newIssuer(t)
		g := offerGrants(realm)
		trusted := filepath.Join(t.TempDir(), "roots.pem")
		put(t, trusted, inPEM("CERTIFICATE", realm.Certificate().Raw))
		env := append(ca.serverFiles(t.TempDir(), 2, time.Now().Add(time.Hour)), "TIPSTAFF_OAUTH_ISSUER="+realm.URL,
			"TIPSTAFF_OAUTH_AUDIENCE="+toolsURL, "TIPSTAFF_HTTP_HOSTS=tools.example.com", "SSL_CERT_FILE="+trusted)
		w := serveHTTP(t, setup{env: env})
		client := w.publicClient(ca.cert, realm.Certificate())
		handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
			PreregisteredClient: &oauthex.ClientCredentials{ClientID: "agent"},
			RedirectURL:         redirect,
			Client:              client,
			AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
				return visit(ctx, client, a.URL)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: toolsURL, HTTPClient: client, OAuthHandler: handler, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("cannot connect: %v\n%s\n%v", err, w.Stderr, g.faults)
		}
		defer func() { _ = session.Close() }()
		s := *w.Server
		s.Session = session
		if r := s.Command("echo by grant"); r.IsError || r.YAML().Stdout != "by grant\n" {
			t.Errorf("%s", r.Text)
		}
		if len(g.faults) > 0 {
			t.Errorf("the issuer was asked wrongly: %q", g.faults)
		}
		if len(g.asked) != 2 || !slices.Equal(slices.Sorted(strings.FieldsSeq(g.asked[1])), []string{"execute", "read"}) {
			t.Errorf("scopes were asked for: %q", g.asked)
		}
		who, _ := w.Records()[len(w.Records())-1]["who"].(map[string]any)
		if want := "oauth:" + strings.TrimPrefix(realm.URL, "https://") + "|user-1"; who["principal"] != want {
			t.Errorf("the record names %v, want %s", who["principal"], want)
		}
	})
}

// publicClient reaches the server by its public name, and issuers at their real
// addresses.
func (w *webServer) publicClient(roots ...*x509.Certificate) *http.Client {
	pool := x509.NewCertPool()
	for _, c := range roots {
		pool.AddCert(c)
	}
	here, err := url.Parse(w.url)
	if err != nil {
		w.T.Fatal(err)
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == "tools.example.com:443" {
				address = here.Host
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
}

// visit does what a person's browser does, up to the redirection.
func visit(ctx context.Context, client *http.Client, address string) (*auth.AuthorizationResult, error) {
	browser := *client
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := browser.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	back, err := resp.Location()
	if err != nil {
		return nil, err
	}
	return &auth.AuthorizationResult{Code: back.Query().Get("code"), State: back.Query().Get("state")}, nil
}
