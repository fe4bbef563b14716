package authn

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tipstaff/internal/strictjson"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// leeway is the accepted difference between the clocks of issuer and server.
const leeway = 30 * time.Second

// issuer judges access tokens that are JWTs (RFC 9068, and the forms that
// issuers used before it).
type issuer struct {
	Issuer

	algs []jose.SignatureAlgorithm
	keys *keys
	name string // in principals
	now  func() time.Time
}

// What is wrong with a token, for the operator only.
var (
	errNotJWT     = errors.New("not a signed JWT of a kind that is taken here")
	errType       = errors.New("the JWT is of another type than an access token")
	errCritical   = errors.New("the JWT has critical header parameters, and none is known here")
	errSignature  = errors.New("the JWT's signature is not the issuer's")
	errNoExpiry   = errors.New("the JWT never expires")
	errSubject    = errors.New(`the JWT's "sub" is missing, too long or has characters that cannot be shown`)
	errBound      = errors.New("the token is bound to a key, and the request does not show that the caller has it")
	errManyScopes = errors.New(`the JWT's "scope" is neither a string nor a list of strings`)
)

// looksLikeJWT distinguishes an issuer's tokens from others, before any work.
func looksLikeJWT(token string) bool { return strings.Count(token, ".") == 2 }

// claims are the claims of an access token that jwt.Claims does not have.
type claims struct {
	Scope words                      `json:"scope"`
	SCP   words                      `json:"scp"` // Okta and Entra
	Bound map[string]json.RawMessage `json:"cnf"` // RFC 7800
}

// authenticate judges a token. Only [errKeysOut] and the errors of ctx mean
// that it could not be judged; all others mean that it is not good.
func (i *issuer) authenticate(r *http.Request, token string) (Principal, error) {
	if !looksLikeJWT(token) {
		return Principal{}, errNotJWT
	}
	parsed, err := jwt.ParseSigned(token, i.algs)
	if err != nil || len(parsed.Headers) != 1 {
		return Principal{}, errNotJWT
	}
	if err := acceptable(parsed.Headers[0]); err != nil {
		return Principal{}, err
	}
	std, ours, err := i.verify(r.Context(), parsed)
	if err != nil {
		return Principal{}, err
	}
	if err := i.judge(std); err != nil {
		return Principal{}, err
	}
	if err := proven(ours.Bound, r); err != nil {
		return Principal{}, err
	}
	return Principal{Name: i.name + std.Subject, Scopes: i.scopes(ours)}, nil
}

// acceptable checks the header. It ignores parameters that name keys (jku, jwk,
// x5u, x5c): only the issuer's keys count, whatever a token says.
func acceptable(h jose.Header) error {
	typ, given := h.ExtraHeaders[jose.HeaderType]
	if given {
		name, _ := typ.(string)
		name = strings.TrimPrefix(strings.ToLower(name), "application/")
		if name != "at+jwt" && name != "jwt" {
			return errType
		}
	}
	if _, critical := h.ExtraHeaders["crit"]; critical {
		return errCritical
	}
	return nil
}

// verify checks the signature and reads the claims, in this order.
func (i *issuer) verify(ctx context.Context, parsed *jwt.JSONWebToken) (std jwt.Claims, ours claims, err error) {
	h := parsed.Headers[0]
	found, err := i.keys.find(ctx, h.KeyID, jose.SignatureAlgorithm(h.Algorithm))
	if err != nil {
		return std, ours, err
	}
	for _, key := range found {
		// The type in the claims is checked only when the signature is good.
		if err = parsed.Claims(key.Key, &std, &ours); err == nil {
			return std, ours, nil
		}
	}
	return jwt.Claims{}, claims{}, fmt.Errorf("%w: %w", errSignature, err)
}

// judge checks the claims: who made the token, for whom, until when, about
// whom.
func (i *issuer) judge(c jwt.Claims) error {
	if c.Expiry == nil {
		return errNoExpiry
	}
	expected := jwt.Expected{Issuer: i.URL, AnyAudience: jwt.Audience{i.Audience}, Time: i.now()}
	if err := c.ValidateWithLeeway(expected, leeway); err != nil {
		return err
	}
	const longest = 255
	if c.Subject == "" || len(c.Subject) > longest || !printable(c.Subject) {
		return errSubject
	}
	return nil
}

// proven checks that a token which is bound to a key came from the owner of
// that key. Only the binding to the client's certificate (RFC 8705) is
// supported; a token with another binding is refused, not treated as unbound.
func proven(bound map[string]json.RawMessage, r *http.Request) error {
	if bound == nil {
		return nil
	}
	var thumbprint string
	if len(bound) != 1 || strictjson.Unmarshal(bound["x5t#S256"], &thumbprint) != nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return errBound
	}
	sum := sha256.Sum256(r.TLS.PeerCertificates[0].Raw)
	if thumbprint != base64.RawURLEncoding.EncodeToString(sum[:]) {
		return errBound
	}
	return nil
}

// scopes returns our scopes among a token's; others are ignored.
func (i *issuer) scopes(c claims) []Scope {
	given := c.Scope
	if given == nil {
		given = c.SCP
	}
	var scopes []Scope
	for _, word := range given {
		name, ok := strings.CutPrefix(word, i.ScopePrefix)
		if i.ScopePrefix == "" {
			name = strings.TrimPrefix(word, "tipstaff:")
		}
		if s := Scope(name); ok && slices.Contains(All(), s) && !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// words is a claim that is a space-separated string (RFC 8693) or a list of
// strings.
type words []string

func (w *words) UnmarshalJSON(data []byte) error {
	var text string
	if strictjson.Unmarshal(data, &text) == nil {
		*w = append(words{}, strings.Fields(text)...)
		return nil
	}
	var list []string
	if strictjson.Unmarshal(data, &list) != nil {
		return errManyScopes
	}
	*w = list
	return nil
}
