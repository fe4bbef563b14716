package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"tipstaff/internal/exit"
	"tipstaff/internal/front/authn"
	"tipstaff/internal/server/config"
)

// newAuthenticator returns the authenticator of callers over HTTP. If the
// settings have no method, it makes a token and prints it once, on stderr: the
// token is in no file, log or record.
func newAuthenticator(s config.Settings, stderr io.Writer, changes authn.Changes, log *slog.Logger) (*authn.Gate, error) {
	o, err := identityOptions(s)
	if err != nil {
		return nil, settingsError(err)
	}
	o.Log, o.Changes = log, changes
	made := o.Token == "" && o.TokensFile == "" && s.Callers.OAuth.Issuer == "" && s.Callers.TLS.ClientCAFile == ""
	if made {
		o.Token = authn.NewToken()
	}
	gate, err := authn.New(o)
	if err != nil {
		return nil, settingsError(err)
	}
	if made {
		_, err := fmt.Fprintf(stderr, "tipstaff: no TIPSTAFF_TOKEN is set; until this server ends, clients send this header:\n  Authorization: Bearer %s\n", o.Token)
		if err != nil {
			return nil, exit.Errorf(exit.Failure, "cannot show the token that was made: %w", err)
		}
	}
	return gate, nil
}

// newServerTLS returns the TLS configuration for HTTP; nil without a
// certificate in the settings.
func newServerTLS(s config.Settings, changes authn.Changes, log *slog.Logger) (*authn.TLS, error) {
	t := s.Callers.TLS
	if t.CertFile == "" && t.KeyFile == "" && t.ClientCAFile == "" {
		return nil, nil
	}
	pair, err := authn.NewTLS(authn.TLSOptions{
		CertFile: t.CertFile, KeyFile: t.KeyFile, ClientCAFile: t.ClientCAFile, Optional: t.ClientOptional, Changes: changes, Log: log,
	})
	if err != nil {
		return nil, settingsError(err)
	}
	return pair, nil
}

func identityOptions(s config.Settings) (authn.Options, error) {
	c := s.Callers
	o := authn.Options{
		Token: c.Token, TokensFile: c.TokensFile,
		Issuer: authn.Issuer{
			URL: c.OAuth.Issuer, Audience: c.OAuth.Audience, KeysURL: c.OAuth.KeysURL,
			Algorithms: c.OAuth.Algorithms, ScopePrefix: c.OAuth.ScopePrefix, Scopes: firstScopes(s),
		},
	}
	var err error
	o.Clients, err = clientOptions(c.TLS)
	return o, err
}

// clientOptions says what callers with a certificate may do. Their certificates
// must be verified, and their scopes must be set explicitly.
func clientOptions(t config.TLS) (authn.Clients, error) {
	scopes, err := authn.ParseScopes(t.ClientScopes)
	said := t.ClientsFile != "" || len(scopes) > 0
	switch {
	case err != nil:
		return authn.Clients{}, fmt.Errorf("TIPSTAFF_TLS_CLIENT_SCOPES: %w", err)
	case t.ClientCAFile == "" && said:
		return authn.Clients{}, errors.New("TIPSTAFF_TLS_CLIENTS_FILE and TIPSTAFF_TLS_CLIENT_SCOPES are about client certificates: name their authority in TIPSTAFF_TLS_CLIENT_CA_FILE")
	case t.ClientCAFile != "" && !said:
		return authn.Clients{}, errors.New("TIPSTAFF_TLS_CLIENT_CA_FILE is set, but not what its clients may do: set TIPSTAFF_TLS_CLIENTS_FILE, or TIPSTAFF_TLS_CLIENT_SCOPES as execute,read for all of them")
	}
	return authn.Clients{Scopes: scopes, File: t.ClientsFile}, nil
}

// firstScopes are those that a client is told to request first: all that the
// tools of this server need.
func firstScopes(s config.Settings) []authn.Scope {
	return slices.DeleteFunc([]authn.Scope{authn.Execute, authn.Sessions, authn.Read}, func(scope authn.Scope) bool {
		return scope == authn.Sessions && !s.Terminal
	})
}

// settingsError names the variable that set an option.
func settingsError(err error) error {
	variables := map[string]string{
		"Token": "TIPSTAFF_TOKEN", "TokensFile": "TIPSTAFF_TOKENS_FILE",
		"Issuer.URL": "TIPSTAFF_OAUTH_ISSUER", "Issuer.Audience": "TIPSTAFF_OAUTH_AUDIENCE", "Issuer.KeysURL": "TIPSTAFF_OAUTH_JWKS_URL",
		"Issuer.Algorithms": "TIPSTAFF_OAUTH_ALGORITHMS", "Issuer.ScopePrefix": "TIPSTAFF_OAUTH_SCOPE_PREFIX",
		"Clients.File": "TIPSTAFF_TLS_CLIENTS_FILE", "Clients.Scopes": "TIPSTAFF_TLS_CLIENT_SCOPES",
		"CertFile": "TIPSTAFF_TLS_CERT_FILE", "KeyFile": "TIPSTAFF_TLS_KEY_FILE", "ClientCAFile": "TIPSTAFF_TLS_CLIENT_CA_FILE",
	}
	var option *authn.OptionError
	if errors.As(err, &option) {
		err = fmt.Errorf("%s: %w", variables[option.Option], option.Err)
	}
	return exit.Errorf(exit.Config, "cannot start with these settings:\n%w", err)
}
