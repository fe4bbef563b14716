package authn

import (
	"errors"
	"net/http"
	"strings"
)

// maxToken bounds a token in bytes before any work is done on it. Access tokens
// that name many groups come close to 8 KiB; proxies cut longer headers anyway.
const maxToken = 8 << 10

var (
	errTwoHeaders = errors.New("several Authorization headers")
	errInQuery    = errors.New("an access token in the URL")
	errScheme     = errors.New("another scheme than Bearer")
	errSyntax     = errors.New("not the syntax of a bearer token")
	errTooLong    = errors.New("a longer token than any issuer makes")
)

// bearer returns the token of a request (RFC 6750, section 2.1). Without an
// Authorization header it returns "" and no error.
//
// A token in the URL is an error, even with a good credential: every proxy
// and server on the way logs URLs, so its sender has to be told.
func bearer(r *http.Request) (string, error) {
	if tokenInQuery(r.URL.RawQuery) {
		return "", errInQuery
	}
	headers := r.Header["Authorization"]
	switch len(headers) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", errTwoHeaders
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", errScheme
	}
	token = strings.TrimLeft(token, " ")
	switch {
	case len(token) > maxToken:
		return "", errTooLong
	case !tokenSyntax(token):
		return "", errSyntax
	}
	return token, nil
}

// tokenSyntax reports whether s is a b64token of RFC 6750.
func tokenSyntax(s string) bool {
	s = strings.TrimRight(s, "=")
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return s != ""
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// tokenInQuery looks for the parameter of RFC 6750, section 2.3, which OAuth
// 2.1 has dropped. It compares names both as written and decoded, in any case,
// and also searches a query that is malformed elsewhere.
func tokenInQuery(query string) bool {
	for pair := range strings.FieldsFuncSeq(query, func(c rune) bool { return c == '&' || c == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		if strings.EqualFold(unescape(name), "access_token") {
			return true
		}
	}
	return false
}

// unescape decodes %xx and leaves malformed escapes alone.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && hexDigit(s[i+1]) >= 0 && hexDigit(s[i+2]) >= 0 {
			b.WriteByte(byte(hexDigit(s[i+1])<<4 | hexDigit(s[i+2])))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func hexDigit(c byte) int { return strings.IndexByte("0123456789abcdef", c|0x20) }
