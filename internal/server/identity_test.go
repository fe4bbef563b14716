package server

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tipstaff/internal/front/authn"
	"tipstaff/internal/redact"
	"tipstaff/internal/server/config"
)

// TestATokenIsMadeWhenNoneIsSet: it is shown once, it works, and the record
// would hide it.
func TestATokenIsMadeWhenNoneIsSet(t *testing.T) {
	var out, log bytes.Buffer
	gate, err := newAuthenticator(config.Settings{}, &out, nil, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	token := regexp.MustCompile(`tps_\w+`).FindString(out.String())
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	if who, err := gate.Authenticate(r); err != nil || who.Name != "token" {
		t.Errorf("%+v, %v", who, err)
	}
	if strings.Count(out.String(), token) != 1 || log.Len() > 0 {
		t.Errorf("%s\n%s", out.String(), log.String())
	}
	// A new redactor does not know it, and recognises it by its form.
	if hidden := redact.New(nil).Argv([]string{"deploy", token}); strings.Contains(strings.Join(hidden, " "), token) {
		t.Errorf("%q", hidden)
	}
}

func TestATokenThatIsSetIsNotShown(t *testing.T) {
	var out bytes.Buffer
	s := config.Settings{Callers: config.Callers{Token: "9f86d081884c7d659a2feaa0c55ad015"}}
	if _, err := newAuthenticator(s, &out, nil, slog.New(slog.DiscardHandler)); err != nil || out.Len() > 0 {
		t.Errorf("%v, %s", err, out.String())
	}
	s.Callers.Token = "hunter2"
	_, err := newAuthenticator(s, &out, nil, slog.New(slog.DiscardHandler))
	if err == nil || out.Len() > 0 || !strings.Contains(err.Error(), "TIPSTAFF_TOKEN: a token has at least 32 characters") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v, %s", err, out.String())
	}
}

// TestFaultsOfCallersNameTheVariable: an operator has to find the setting again.
func TestFaultsOfCallersNameTheVariable(t *testing.T) {
	dir := t.TempDir()
	issuer := config.OAuth{Issuer: "https://login.example.com", Audience: "https://tools.example.com/mcp"}
	for want, change := range map[string]func(*config.Callers){
		"TIPSTAFF_TOKEN: a token has":                         func(c *config.Callers) { c.Token = "x" },
		"TIPSTAFF_TOKENS_FILE: " + dir + " is no file":        func(c *config.Callers) { c.TokensFile = dir },
		"TIPSTAFF_OAUTH_ISSUER: ":                             func(c *config.Callers) { c.OAuth = issuer; c.OAuth.Issuer = "http://login.example.com" },
		"TIPSTAFF_OAUTH_ISSUER: the issuer is missing":        func(c *config.Callers) { c.OAuth.Audience = "https://tools.example.com" },
		"TIPSTAFF_OAUTH_AUDIENCE: ":                           func(c *config.Callers) { c.OAuth = issuer; c.OAuth.Audience = "" },
		"TIPSTAFF_OAUTH_JWKS_URL: ":                           func(c *config.Callers) { c.OAuth = issuer; c.OAuth.KeysURL = "keys" },
		"TIPSTAFF_OAUTH_ALGORITHMS: \"none\"":                 func(c *config.Callers) { c.OAuth = issuer; c.OAuth.Algorithms = []string{"none"} },
		"TIPSTAFF_OAUTH_SCOPE_PREFIX: ":                       func(c *config.Callers) { c.OAuth = issuer; c.OAuth.ScopePrefix = "\"" },
		"TIPSTAFF_TLS_CLIENT_CA_FILE is set":                  func(c *config.Callers) { c.TLS.ClientCAFile = "/ca" },
		"authority in TIPSTAFF_TLS_CLIENT_CA_FILE":            func(c *config.Callers) { c.TLS.ClientScopes = []string{"read"} },
		"TIPSTAFF_TLS_CLIENT_SCOPES: \"all\"":                 func(c *config.Callers) { c.TLS.ClientCAFile = "/ca"; c.TLS.ClientScopes = []string{"all"} },
		"TIPSTAFF_TLS_CLIENTS_FILE: open " + dir + "/nothing": func(c *config.Callers) { c.TLS.ClientCAFile = "/ca"; c.TLS.ClientsFile = dir + "/nothing" },
		"TIPSTAFF_TLS_CLIENT_SCOPES: scopes for all": func(c *config.Callers) {
			c.TLS = config.TLS{ClientCAFile: "/ca", ClientsFile: "/c", ClientScopes: []string{"read"}}
		},
	} {
		var s config.Settings
		change(&s.Callers)
		var out bytes.Buffer
		_, err := newAuthenticator(s, &out, nil, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%v; want %s", err, want)
		}
	}
	for want, c := range map[string]config.TLS{
		"TIPSTAFF_TLS_CERT_FILE: the certificate is missing": {KeyFile: "/k"},
		"TIPSTAFF_TLS_KEY_FILE: the key of the":              {CertFile: "/c"},
		"TIPSTAFF_TLS_CERT_FILE: open":                       {CertFile: dir + "/c", KeyFile: dir + "/k"},
	} {
		if _, err := newServerTLS(config.Settings{Callers: config.Callers{TLS: c}}, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if pair, err := newServerTLS(config.Settings{}, nil, slog.New(slog.DiscardHandler)); pair != nil || err != nil {
		t.Errorf("without settings: %v, %v", pair, err)
	}
}

// TestClientsAskForWhatTheToolsNeed: the scope for sessions only if there are
// sessions, and never admin.
func TestClientsAskForWhatTheToolsNeed(t *testing.T) {
	s := config.Settings{Callers: config.Callers{OAuth: config.OAuth{Issuer: "https://login.example.com", Audience: "https://tools.example.com/mcp"}}}
	for terminal, want := range map[bool]string{true: `scope="execute sessions read"`, false: `scope="execute read"`} {
		s.Terminal = terminal
		var out bytes.Buffer
		gate, err := newAuthenticator(s, &out, nil, slog.New(slog.DiscardHandler))
		if err != nil || out.Len() > 0 {
			t.Fatal(err, out.String())
		}
		var refusal *authn.Refusal
		if _, err := gate.Authenticate(httptest.NewRequest("POST", "/mcp", nil)); !errors.As(err, &refusal) || !strings.HasSuffix(refusal.Challenge, want) {
			t.Errorf("%+v", refusal)
		}
	}
}

func TestWithATokensFileNoTokenIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(path, []byte("tokens: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := config.Settings{Callers: config.Callers{TokensFile: path}}
	if _, err := newAuthenticator(s, &out, nil, slog.New(slog.DiscardHandler)); err != nil || out.Len() > 0 {
		t.Errorf("%v, %s", err, out.String())
	}
}
