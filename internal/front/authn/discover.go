package authn

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// discover asks an issuer's metadata for the address of its keys, at the URLs
// that RFC 8414 and OpenID Connect Discovery define.
func (f fetcher) discover(ctx context.Context, issuer string) (string, error) {
	var missing []error
	for _, place := range metadataOf(issuer) {
		var doc struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		err := f.get(ctx, place, &doc)
		switch {
		case errors.Is(err, errNotThere):
			missing = append(missing, err)
			continue
		case err != nil:
			return "", err
		case doc.Issuer != issuer:
			// RFC 8414, section 3.3: otherwise one issuer could impersonate
			// another.
			return "", fmt.Errorf("%s: is about another issuer than %s", place, issuer)
		}
		keys, err := webAddress(doc.Keys)
		if err != nil {
			return "", fmt.Errorf("%s: jwks_uri: %w", place, err)
		}
		if strings.HasPrefix(issuer, "https:") && keys.Scheme != "https" {
			return "", fmt.Errorf("%s: jwks_uri has to begin with https:// as the issuer does", place)
		}
		return doc.Keys, nil
	}
	return "", errors.Join(missing...)
}

// metadataOf lists where an issuer's metadata can be, in the order of the
// protocol's authorization pages.
func metadataOf(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	root, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{root + "/.well-known/oauth-authorization-server" + path, root + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, root+path+"/.well-known/openid-configuration")
	}
	return places
}
