package authn

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheMetadataOfTheResource(t *testing.T) {
	g, err := New(Options{Issuer: Issuer{URL: "https://login.example.com/realms/dev", Audience: "https://tools.example.com/team/mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	m := g.Metadata()
	if m.URL() != "https://tools.example.com/.well-known/oauth-protected-resource/team/mcp" {
		t.Error(m.URL())
	}
	if want := []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/team/mcp"}; !slices.Equal(m.Paths(), want) {
		t.Errorf("%q", m.Paths())
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, m.Paths()[0], http.NoBody))
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"resource": "https://tools.example.com/team/mcp", "authorization_servers": []any{"https://login.example.com/realms/dev"},
		"scopes_supported": []any{"execute", "sessions", "read"}, "bearer_methods_supported": []any{"header"}, "resource_name": "tipstaff",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if h := w.Header(); h.Get("Content-Type") != "application/json" || h.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%v", h)
	}
	for method, status := range map[string]int{http.MethodHead: 200, http.MethodOptions: 204, http.MethodPost: 405, http.MethodDelete: 405} {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(method, "/", http.NoBody))
		if w.Code != status || w.Body.Len() != 0 {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

func TestAddressesOfTheMetadata(t *testing.T) {
	for audience, want := range map[string]string{
		"https://tools.example.com":          "https://tools.example.com/.well-known/oauth-protected-resource",
		"https://tools.example.com/":         "https://tools.example.com/.well-known/oauth-protected-resource",
		"https://tools.example.com:8443/mcp": "https://tools.example.com:8443/.well-known/oauth-protected-resource/mcp",
		"http://127.0.0.1:7075/mcp":          "http://127.0.0.1:7075/.well-known/oauth-protected-resource/mcp",
		"http://[::1]:7075/mcp?a=b":          "http://[::1]:7075/.well-known/oauth-protected-resource/mcp?a=b",
	} {
		m, err := newMetadata(Issuer{URL: "https://i.example", Audience: audience}, nil)
		if err != nil || m.URL() != want {
			t.Errorf("%s: %v, %v", audience, m, err)
		}
	}
	if g, err := New(Options{Token: NewToken()}); err != nil || g.Metadata() != nil {
		t.Errorf("without an issuer: %v", err)
	}
}

// TestAChallengeCannotBeBrokenOutOf by any text in a setting.
func TestAChallengeCannotBeBrokenOutOf(t *testing.T) {
	if got := quoted("a\"b\\c\r\nX: y\u2028ä"); got != `"a'b'c??X: y??"` {
		t.Error(got)
	}
}
