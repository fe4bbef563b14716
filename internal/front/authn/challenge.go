package authn

import (
	"net/http"
	"strings"
)

// Challenge makes the answers to refused requests, as RFC 6750 and the
// protocol's authorization pages define them, from revision 2025-06-18 on. The
// zero Challenge is that of a server without OAuth.
type Challenge struct {
	metadata string   // where the protected-resource metadata is; "" without OAuth
	scopes   []string // what a client should request from the issuer at first
	prefix   string   // of scope names at the issuer
}

// The texts for clients. All bad tokens get the same sentence, so that it does
// not tell how close a guess was.
const (
	msgMissing = "this server wants to know who you are: send a token in the header \"Authorization: Bearer …\""
	msgInvalid = "the access token is not valid here: it may be wrong, expired or meant for another server"
	msgBadCert = "the client certificate is not one of this server's clients"
	msgKeysOut = "access tokens cannot be checked at the moment; try again in a few seconds"
)

// missing answers a request without a credential. It has no error code:
// RFC 6750, section 3.1.
func (c Challenge) missing() *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Challenge: c.header("", "", c.scopes), Msg: msgMissing}
}

// invalid answers a token that is not good, whatever is wrong with it.
func (c Challenge) invalid(err error) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Challenge: c.header("invalid_token", msgInvalid, c.scopes), Msg: msgInvalid, Err: err}
}

// malformed answers a request that sends its credential in a wrong way.
func (c Challenge) malformed(err error) *Refusal {
	msg := "send one credential, as \"Authorization: Bearer TOKEN\"; this request has " + err.Error()
	return &Refusal{Status: http.StatusBadRequest, Challenge: c.header("invalid_request", "", nil), Msg: msg, Err: err}
}

// unavailable answers while the issuer's keys cannot be fetched. The status is
// not 401, because the client would discard a token that may be good.
func (c Challenge) unavailable(err error) *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, Msg: msgKeysOut, Err: err}
}

// Insufficient returns the refusal of a principal that lacks a scope: 403, with
// all scopes that the request needs, so that a client can request them from its
// issuer.
func (c Challenge) Insufficient(needed ...Scope) *Refusal {
	names := c.names(needed)
	msg := "your credential lacks the scope for this: " + strings.Join(names, " ")
	return &Refusal{Status: http.StatusForbidden, Challenge: c.header("insufficient_scope", msg, names), Msg: msg}
}

// names returns scopes under their names at the issuer.
func (c Challenge) names(scopes []Scope) []string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = c.prefix + string(s)
	}
	return names
}

// header returns a challenge. It names scopes only if there is an issuer to
// request them from.
func (c Challenge) header(code, description string, scopes []string) string {
	var params []string
	add := func(name, value string) {
		if value != "" {
			params = append(params, name+"="+quoted(value))
		}
	}
	add("error", code)
	add("error_description", description)
	if c.metadata != "" {
		add("resource_metadata", c.metadata)
		add("scope", strings.Join(scopes, " "))
	}
	if len(params) == 0 {
		return "Bearer"
	}
	return "Bearer " + strings.Join(params, ", ")
}

// quoted makes a quoted-string of RFC 9110 that is also within what RFC 6750
// allows: no quote, no backslash, ASCII only.
func quoted(s string) string {
	return `"` + strings.Map(func(c rune) rune {
		switch {
		case c == '"' || c == '\\':
			return '\''
		case c < 0x20 || c > 0x7e:
			return '?'
		}
		return c
	}, s) + `"`
}
