//go:build unix && !race

package e2e

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// toolsURL is the server's address for clients; issuers put it into their
// tokens.
const toolsURL = "https://tools.example.com/mcp"

// variable returns a variable of the server's environment.
func (w *webServer) variable(name string) string {
	for _, kv := range slices.Backward(w.Cmd.Env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func TestARemovedTokenEndsWithTheNextRequest(t *testing.T) {
	t.Parallel()
	w := serveHTTP(t, setup{})
	if resp, body := w.fetch("POST", "/mcp", alices, hello); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	path := w.variable("TIPSTAFF_TOKENS_FILE")
	rows, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var left strings.Builder
	for line := range strings.Lines(string(rows)) {
		if !strings.Contains(line, "alice") {
			left.WriteString(line)
		}
	}
	put(t, path, []byte(left.String()))
	for token, want := range map[string]int{alices: 401, bobs: 200} {
		if resp, body := w.fetch("POST", "/mcp", token, hello); resp.StatusCode != want {
			t.Errorf("%d, want %d: %s", resp.StatusCode, want, body)
		}
	}
	put(t, path, []byte("tokens: [nonsense"))
	if resp, _ := w.fetch("POST", "/mcp", bobs, hello); resp.StatusCode != 200 {
		t.Errorf("with a file that cannot be used: %d", resp.StatusCode)
	}
}

func TestAccessTokensOverTLS(t *testing.T) {
	testcmdtest.Long(t)
	t.Parallel()
	ca, realm := newAuthority(t, "servers"), newIssuer(t)
	trusted := filepath.Join(t.TempDir(), "roots.pem")
	put(t, trusted, inPEM("CERTIFICATE", realm.Certificate().Raw))
	ends := time.Now().Add(20 * time.Hour).Truncate(time.Second)
	env := append(ca.serverFiles(t.TempDir(), 2, ends), "TIPSTAFF_OAUTH_ISSUER="+realm.URL, "TIPSTAFF_OAUTH_AUDIENCE="+toolsURL, "SSL_CERT_FILE="+trusted)
	w := serveHTTP(t, setup{env: env}).trusting(ca)
	first := realm.keys["first"]
	good := realm.token("first", first, nil)
	const metadata = `resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp"`

	t.Run("metadata", func(t *testing.T) {
		for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
			resp, body := w.fetch("GET", path, "", "")
			var doc struct {
				Resource             string
				AuthorizationServers []string `json:"authorization_servers"`
			}
			if err := json.Unmarshal([]byte(body), &doc); err != nil || resp.StatusCode != 200 || doc.Resource != toolsURL || !slices.Equal(doc.AuthorizationServers, []string{realm.URL}) {
				t.Errorf("%s: %d %s", path, resp.StatusCode, body)
			}
		}
	})
	t.Run("no token", func(t *testing.T) {
		resp, _ := w.fetch("POST", "/mcp", "", hello)
		if said := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != 401 || !strings.Contains(said, metadata) || strings.Contains(said, "error=") {
			t.Errorf("%d %s", resp.StatusCode, said)
		}
		if resp.ProtoMajor != 2 {
			t.Errorf("over %s", resp.Proto)
		}
	})
	t.Run("good", func(t *testing.T) {
		eachEra(t, func(t *testing.T, version string) {
			if r := w.as(good, version).Command("echo by token"); r.IsError {
				t.Errorf("%s", r.Text)
			}
		})
		who, _ := w.Records()[len(w.Records())-1]["who"].(map[string]any)
		if want := "oauth:" + strings.TrimPrefix(realm.URL, "https://") + "|user-1"; who["principal"] != want {
			t.Errorf("the record names %v, want %s", who["principal"], want)
		}
	})
	for what, token := range map[string]string{
		"wrong audience":       realm.token("first", first, map[string]any{"aud": "https://other.example.com/mcp"}),
		"expired":              realm.token("first", first, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}),
		"another issuer":       realm.token("first", first, map[string]any{"iss": "https://login.example.com"}),
		"another's key":        realm.token("first", newKey(t), nil),
		"a key nobody knows":   realm.token("second", newKey(t), nil),
		"no signature":         realm.token("first", nil, nil),
		"no subject":           realm.token("first", first, map[string]any{"sub": ""}),
		"bound to another key": realm.token("first", first, map[string]any{"cnf": map[string]any{"jkt": "x"}}),
	} {
		t.Run(what, func(t *testing.T) {
			resp, body := w.fetch("POST", "/mcp", token, hello)
			if said := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != 401 || !strings.Contains(said, metadata) || !strings.Contains(said, `error="invalid_token"`) {
				t.Errorf("%d %s %s", resp.StatusCode, said, body)
			}
		})
	}
	t.Run("a missing scope", func(t *testing.T) {
		reader := realm.token("first", first, map[string]any{"scope": "read"})
		resp, body := w.fetch("POST", "/mcp", reader, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_command","arguments":{"command":"echo x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"Mcp-Protocol-Version", stateless, "Mcp-Method", "tools/call", "Mcp-Name", "execute_command")
		said := resp.Header.Get("WWW-Authenticate")
		if resp.StatusCode != 403 || !strings.Contains(said, `error="insufficient_scope"`) || !strings.Contains(said, metadata) || !strings.Contains(said, `scope="execute"`) {
			t.Errorf("%d %s %s", resp.StatusCode, said, body)
		}
	})
	t.Run("metrics", func(t *testing.T) {
		_, body := w.fetch("GET", "/metrics", master, "")
		for _, want := range []string{
			`tipstaff_http_refused_total{reason="caller"} 9`, `tipstaff_http_refused_total{reason="host"} 0`, `tipstaff_http_requests_total{code="401"} 9`,
			`tipstaff_http_requests_total{code="403"} 1`, `tipstaff_policy_denials_total{reason="SCOPE_MISSING"} 1`,
			fmt.Sprintf("tipstaff_tls_certificate_expiry_timestamp_seconds %v\n", float64(ends.Unix())), "tipstaff_approvals_pending 0", "tipstaff_http_sessions ",
		} {
			if !strings.Contains(body, "\n"+want) {
				t.Errorf("there is no %s", want)
			}
		}
	})
	t.Run("rotation", func(t *testing.T) {
		renewed := realm.token("second", realm.rotate("second"), nil)
		kit.Eventually(t, "the new key counts", func() bool {
			resp, _ := w.fetch("POST", "/mcp", renewed, hello)
			return resp.StatusCode == 200
		})
		// The many bad tokens have slowed this address down.
		kit.Eventually(t, "the key that was withdrawn counts no more", func() bool {
			resp, _ := w.fetch("POST", "/mcp", good, hello)
			if resp.StatusCode != 401 && resp.StatusCode != 429 {
				t.Fatalf("by the key that was withdrawn: %d", resp.StatusCode)
			}
			return resp.StatusCode == 401
		})
	})
	if strings.Contains(w.Stderr.String(), good) {
		t.Error("the log has a token")
	}
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	servers, clients, strangers := newAuthority(t, "servers"), newAuthority(t, "clients"), newAuthority(t, "clients")
	dir := t.TempDir()
	put(t, filepath.Join(dir, "ca.crt"), inPEM("CERTIFICATE", clients.cert.Raw))
	env := append(servers.serverFiles(dir, 2, time.Now().Add(time.Hour)), "TIPSTAFF_TLS_CLIENT_CA_FILE="+filepath.Join(dir, "ca.crt"), "TIPSTAFF_TLS_CLIENT_SCOPES=execute")
	plain := serveHTTP(t, setup{env: env})
	known := plain.trusting(servers, clients.client("spiffe://example.org/agents/ci"))
	eachEra(t, func(t *testing.T, version string) {
		if r := known.as("", version).Command("echo by certificate"); r.IsError {
			t.Errorf("%s", r.Text)
		}
	})
	who, _ := known.Records()[len(known.Records())-1]["who"].(map[string]any)
	if who["principal"] != "cert:uri:spiffe://example.org/agents/ci" {
		t.Errorf("the record names %v", who["principal"])
	}
	if resp, _ := known.fetch("POST", "/mcp", "", hello); resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("%d over %s", resp.StatusCode, resp.Proto)
	}
	if resp, _ := known.fetch("POST", "/mcp", "not-a-token-of-anybody-0123456789abcdef", hello); resp.StatusCode != 401 {
		t.Errorf("a wrong token is rescued by the certificate: %d", resp.StatusCode)
	}
	for what, w := range map[string]*webServer{"no certificate": plain.trusting(servers), "an unknown authority": plain.trusting(servers, strangers.client("spiffe://example.org/agents/ci"))} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", strings.TrimSuffix(w.url, "/mcp")+"/healthz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := w.client(master).Do(r); err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s: %d", what, resp.StatusCode)
		}
	}
}

// TestARenewedCertificateCountsFromTheNextConnectionOn, and one that cannot be
// used does not.
func TestARenewedCertificateCountsFromTheNextConnectionOn(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "servers"), t.TempDir()
	w := serveHTTP(t, setup{env: ca.serverFiles(dir, 2, time.Now().Add(time.Hour))}).trusting(ca)
	serial := func() int64 {
		t.Helper()
		resp, body := w.fetch("POST", "/mcp", master, hello)
		if resp.StatusCode != 200 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		return serialOf(resp.TLS)
	}
	if n := serial(); n != 2 {
		t.Errorf("the first is number %d", n)
	}
	ends := time.Now().Add(9 * time.Hour).Truncate(time.Second)
	ca.serverFiles(dir, 3, ends)
	if n := serial(); n != 3 {
		t.Errorf("the renewed one is number %d", n)
	}
	if _, body := w.fetch("GET", "/metrics", master, ""); !strings.Contains(body, fmt.Sprintf("tipstaff_tls_certificate_expiry_timestamp_seconds %v\n", float64(ends.Unix()))) {
		t.Error("the metrics do not tell its end")
	}
	put(t, filepath.Join(dir, "tls.crt"), []byte("nonsense"))
	if n := serial(); n != 3 {
		t.Errorf("with nonsense in the file: number %d", n)
	}
	w.Says("changed files cannot be used")
}

func serialOf(s *tls.ConnectionState) int64 { return s.PeerCertificates[0].SerialNumber.Int64() }
