package authn

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// Issuer names the issuer whose access tokens are accepted: OAuth 2.1, with
// this server as the resource server. The zero Issuer is none.
type Issuer struct {
	URL        string   // the issuer, exactly as it stands in "iss"
	Audience   string   // this server's canonical URI, as it stands in "aud"
	KeysURL    string   // the URL of its JWKS; "": the one in its metadata
	Algorithms []string // of signatures; none: RS256, PS256, ES256 and EdDSA

	// ScopePrefix is what the issuer puts before the names of our scopes.
	// Without one, both the bare names and names with the prefix "tipstaff:"
	// are known.
	ScopePrefix string
	// Scopes are those that a client is told to request at first; none: all but
	// admin.
	Scopes []Scope
	// Roots are the authorities that may have issued the issuer's certificate;
	// nil: those of the system.
	Roots *x509.CertPool
}

func (i Issuer) on() bool {
	return i.URL != "" || i.Audience != "" || i.KeysURL != "" || len(i.Algorithms) > 0 || i.ScopePrefix != ""
}

// Check reports the first fault of an issuer, as an *[OptionError], as far as
// it can be found without a request to the issuer.
func (i Issuer) Check() error {
	if i.URL == "" {
		return optionError("Issuer.URL", errors.New("the issuer is missing, but other settings of it are there"))
	}
	if _, err := webAddress(i.URL); err != nil {
		return optionError("Issuer.URL", err)
	}
	if strings.Contains(i.URL, "?") {
		return optionError("Issuer.URL", errors.New("an issuer's URL has no query"))
	}
	if i.Audience == "" {
		return optionError("Issuer.Audience", errors.New("the audience is missing: this server's own address, as https://HOST/mcp"))
	}
	if _, err := webAddress(i.Audience); err != nil {
		return optionError("Issuer.Audience", err)
	}
	if i.KeysURL != "" {
		if _, err := webAddress(i.KeysURL); err != nil {
			return optionError("Issuer.KeysURL", err)
		}
	}
	if strings.Trim(i.ScopePrefix, scopeBytes) != "" {
		return optionError("Issuer.ScopePrefix", errors.New("it has characters that do not belong in a scope"))
	}
	if _, err := i.algorithms(); err != nil {
		return optionError("Issuer.Algorithms", err)
	}
	return nil
}

// scopeBytes are the bytes allowed in a prefix; RFC 6749 allows some more.
const scopeBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/._-"

// asymmetric are the algorithms that may be chosen. Those with a shared secret
// are missing: a party that can check such a token can also make it, and a
// public key could be mistaken for the secret. "none" is missing too.
var asymmetric = []jose.SignatureAlgorithm{
	jose.RS256, jose.PS256, jose.ES256, jose.EdDSA, // the default
	jose.RS384, jose.RS512, jose.PS384, jose.PS512, jose.ES384, jose.ES512,
}

func (i Issuer) algorithms() ([]jose.SignatureAlgorithm, error) {
	if len(i.Algorithms) == 0 {
		return asymmetric[:4:4], nil
	}
	var all []jose.SignatureAlgorithm
	for _, name := range i.Algorithms {
		alg := jose.SignatureAlgorithm(name)
		if !slices.Contains(asymmetric, alg) {
			return nil, fmt.Errorf("%q is not among the algorithms that are safe here: %s", name, names(asymmetric))
		}
		all = append(all, alg)
	}
	return all, nil
}

func names[S ~string](all []S) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// webAddress parses a URL that is safe to fetch: https, or http on this
// machine.
func webAddress(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is no URL", s)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u)):
		return nil, fmt.Errorf("%q has to begin with https:// (http:// is for this machine itself)", s)
	case u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return nil, fmt.Errorf("%q names no host", s)
	case u.User != nil:
		return nil, errors.New("a URL with a name or password in it is not taken here")
	case strings.Contains(s, "#"):
		return nil, fmt.Errorf("%q has a fragment", s)
	case strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }):
		return nil, fmt.Errorf("%q has characters that no URL has", s)
	}
	return u, nil
}

func loopback(u *url.URL) bool {
	if u.Hostname() == "localhost" {
		return true
	}
	at, err := netip.ParseAddr(u.Hostname())
	return err == nil && at.IsLoopback()
}
