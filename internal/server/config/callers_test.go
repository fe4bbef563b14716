package config

import (
	"slices"
	"strings"
	"testing"
)

func TestCallersGetTheirSettingsAsTheyAreWritten(t *testing.T) {
	s, err := FromEnvironment([]string{
		"HOME=/h", "TIPSTAFF_TOKEN= t ", "TIPSTAFF_TOKENS_FILE=/etc/tokens", "TIPSTAFF_OAUTH_ISSUER=https://i", "TIPSTAFF_OAUTH_AUDIENCE=https://a",
		"TIPSTAFF_OAUTH_JWKS_URL=https://k", "TIPSTAFF_OAUTH_ALGORITHMS= RS256,ES256 ,", "TIPSTAFF_OAUTH_SCOPE_PREFIX=p:",
		"TIPSTAFF_TLS_CERT_FILE=/c", "TIPSTAFF_TLS_KEY_FILE=/k", "TIPSTAFF_TLS_CLIENT_CA_FILE=/a", "TIPSTAFF_TLS_CLIENTS_FILE=/l",
		"TIPSTAFF_TLS_CLIENT_SCOPES=read", "TIPSTAFF_TLS_CLIENT_CERT=optional",
	})
	c := s.Callers
	if err != nil || c.Token != " t " || c.TokensFile != "/etc/tokens" || c.OAuth.Issuer != "https://i" || c.OAuth.Audience != "https://a" ||
		c.OAuth.KeysURL != "https://k" || !slices.Equal(c.OAuth.Algorithms, []string{"RS256", "ES256", ""}) || c.OAuth.ScopePrefix != "p:" ||
		c.TLS.CertFile != "/c" || c.TLS.KeyFile != "/k" || c.TLS.ClientCAFile != "/a" || c.TLS.ClientsFile != "/l" ||
		!slices.Equal(c.TLS.ClientScopes, []string{"read"}) || !c.TLS.ClientOptional {
		t.Errorf("%+v, %v", c, err)
	}
	s, err = FromEnvironment([]string{"HOME=/h", "TIPSTAFF_TLS_CLIENT_CERT=", "TIPSTAFF_OAUTH_ALGORITHMS= "})
	if err != nil || s.Callers.TLS.ClientOptional || s.Callers.OAuth.Algorithms != nil {
		t.Errorf("%+v, %v", s.Callers, err)
	}
}

func TestFaultsOfCallersAreNamed(t *testing.T) {
	_, err := FromEnvironment([]string{
		"HOME=/h", "TIPSTAFF_TOKEN=secret", "TIPSTAFF_TOKENS_FILE=t", "TIPSTAFF_TLS_CERT_FILE=c", "TIPSTAFF_TLS_KEY_FILE=k",
		"TIPSTAFF_TLS_CLIENT_CA_FILE=a", "TIPSTAFF_TLS_CLIENTS_FILE=l", "TIPSTAFF_TLS_CLIENT_CERT=maybe",
	})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatal(err)
	}
	for _, name := range []string{"TOKENS_FILE", "TLS_CERT_FILE", "TLS_KEY_FILE", "TLS_CLIENT_CA_FILE", "TLS_CLIENTS_FILE", "TLS_CLIENT_CERT"} {
		if !strings.Contains(err.Error(), "TIPSTAFF_"+name+"=") {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
}
