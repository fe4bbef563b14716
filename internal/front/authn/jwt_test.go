package authn

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func TestTokensOfTheIssuerAreTaken(t *testing.T) {
	r := newRealm(t)
	g := r.gate(r.trusted())
	name := "oauth:" + strings.TrimPrefix(r.issuer(), "https://") + "|user-1"
	for what, c := range map[string]struct{ token, scopes string }{
		"RS256":                    {r.good(), "[execute read]"},
		"PS256":                    {sign(t, jose.PS256, "rsa", rsaKey(), r.claims(), nil), "[execute read]"},
		"ES256":                    {sign(t, jose.ES256, "ec", ecKey(), r.claims(), nil), "[execute read]"},
		"EdDSA":                    {sign(t, jose.EdDSA, "ed", edKey(), r.claims(), nil), "[execute read]"},
		"typ JWT":                  {sign(t, jose.ES256, "ec", ecKey(), r.claims(), map[string]any{"typ": "JWT"}), "[execute read]"},
		"typ with its long name":   {sign(t, jose.ES256, "ec", ecKey(), r.claims(), map[string]any{"typ": "application/AT+jwt"}), "[execute read]"},
		"no name of a key":         {sign(t, jose.ES256, "", ecKey(), r.claims(), nil), "[execute read]"},
		"two audiences":            {sign(t, jose.ES256, "ec", ecKey(), with(r.claims(), "aud", []string{"https://else.example", audience}), nil), "[execute read]"},
		"no nbf and no iat":        {sign(t, jose.ES256, "ec", ecKey(), with(with(r.claims(), "nbf", nil), "iat", nil), nil), "[execute read]"},
		"expired within leeway":    {sign(t, jose.ES256, "ec", ecKey(), with(r.claims(), "exp", r.now().Add(-20*time.Second).Unix()), nil), "[execute read]"},
		"no scope":                 {sign(t, jose.ES256, "ec", ecKey(), with(r.claims(), "scope", nil), nil), "[]"},
		"scp as a list":            {sign(t, jose.ES256, "ec", ecKey(), with(with(r.claims(), "scope", nil), "scp", []string{"sessions", "x"}), nil), "[sessions]"},
		"scp as a string":          {sign(t, jose.ES256, "ec", ecKey(), with(with(r.claims(), "scope", nil), "scp", "admin admin"), nil), "[admin]"},
		"scope empty, scp given":   {sign(t, jose.ES256, "ec", ecKey(), with(with(r.claims(), "scope", ""), "scp", "admin"), nil), "[]"},
		"scopes that look similar": {sign(t, jose.ES256, "ec", ecKey(), with(r.claims(), "scope", "Execute executes other:read tipstaff:tipstaff:read tipstaff"), nil), "[]"},
		// Where a token says its key can be found is ignored.
		"jku, x5u, jwk": {sign(t, jose.ES256, "ec", ecKey(), r.claims(), map[string]any{"jku": "http://evil.example/", "x5u": "http://evil.example/", "jwk": public("ec", otherRSA())}), "[execute read]"},
	} {
		who, err := by(g, c.token)
		if got := fmt.Sprint(who.Scopes); err != nil || who.Name != name || got != c.scopes {
			t.Errorf("%s: %s %s, %v", what, who.Name, got, err)
		}
	}
	if n := r.keyQuestions.Load(); n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
}

// TestAttacksWithTokens: each is refused with the same words.
func TestAttacksWithTokens(t *testing.T) {
	r := newRealm(t)
	g := r.gate(r.trusted())
	if _, err := by(g, r.good()); err != nil {
		t.Fatal(err)
	}
	ec := func(claims map[string]any) string { return sign(t, jose.ES256, "ec", ecKey(), claims, nil) }
	parts := strings.Split(r.good(), ".")
	pkix := must(x509.MarshalPKIXPublicKey(rsaKey().Public()))
	confused := func(secret []byte) string {
		token := craft(map[string]any{"alg": "HS256", "kid": "rsa", "typ": "at+jwt"}, r.claims(), nil)
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(strings.TrimSuffix(token, ".")))
		return token + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	attacks := map[string]string{
		"another audience":              ec(with(r.claims(), "aud", "https://else.example/mcp")),
		"an audience that begins alike": ec(with(r.claims(), "aud", audience+"/x")),
		"no audience":                   ec(with(r.claims(), "aud", nil)),
		"two wrong audiences":           ec(with(r.claims(), "aud", []string{"https://tools.example.com", "https://tools.example.com/"})),
		"an audience that is no text":   ec(with(r.claims(), "aud", 1)),
		"another issuer":                ec(with(r.claims(), "iss", r.URL)),
		"an issuer with a slash":        ec(with(r.claims(), "iss", r.issuer()+"/")),
		"no issuer":                     ec(with(r.claims(), "iss", nil)),
		"expired":                       ec(with(r.claims(), "exp", r.now().Add(-31*time.Second).Unix())),
		"never expires":                 ec(with(r.claims(), "exp", nil)),
		"expires in text":               ec(with(r.claims(), "exp", "2099-01-01")),
		"expires beyond all numbers":    ec(with(r.claims(), "exp", 1e300)),
		"not yet valid":                 ec(with(r.claims(), "nbf", r.now().Add(31*time.Second).Unix())),
		"issued in the future":          ec(with(r.claims(), "iat", r.now().Add(31*time.Second).Unix())),
		"no subject":                    ec(with(r.claims(), "sub", nil)),
		"an empty subject":              ec(with(r.claims(), "sub", "")),
		"a subject with a line":         ec(with(r.claims(), "sub", "user-1\nadmin")),
		"a subject written backwards":   ec(with(r.claims(), "sub", "\u202euser-1")),
		"a long subject":                ec(with(r.claims(), "sub", strings.Repeat("x", 256))),
		"a subject that is no text":     ec(with(r.claims(), "sub", []string{"user-1"})),
		"a scope that is no text":       ec(with(r.claims(), "scope", 7)),
		"bound to a key (DPoP)":         ec(with(r.claims(), "cnf", map[string]string{"jkt": "x"})),
		"bound to a certificate":        ec(with(r.claims(), "cnf", map[string]string{"x5t#S256": "x"})),
		"bound to nothing":              ec(with(r.claims(), "cnf", map[string]string{})),

		"alg none":                craft(map[string]any{"alg": "none", "kid": "rsa"}, r.claims(), nil),
		"alg None":                craft(map[string]any{"alg": "nOnE", "kid": "rsa"}, r.claims(), nil),
		"no alg":                  craft(map[string]any{"kid": "rsa"}, r.claims(), []byte("x")),
		"HS256 by the public key": confused(pkix),
		"HS256 by it in PEM":      confused(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})),
		"HS256 by nothing":        confused(nil),
		"RS512, not in the list":  sign(t, jose.RS512, "rsa", rsaKey(), r.claims(), nil),
		"a key of another kind":   sign(t, jose.RS256, "ec", rsaKey(), r.claims(), nil),
		"an unknown key":          sign(t, jose.RS256, "new", otherRSA(), r.claims(), nil),
		"another key, known name": sign(t, jose.RS256, "rsa", otherRSA(), r.claims(), nil),
		"a path for a name":       sign(t, jose.RS256, "../../../../dev/null", otherRSA(), r.claims(), nil),
		"a URL for a name":        sign(t, jose.RS256, "https://evil.example/key", otherRSA(), r.claims(), nil),
		"SQL for a name":          sign(t, jose.RS256, "x' UNION SELECT 'k", otherRSA(), r.claims(), nil),
		"a long name":             sign(t, jose.RS256, strings.Repeat("k", 257), rsaKey(), r.claims(), nil),
		"its own key":             sign(t, jose.RS256, "rsa", otherRSA(), r.claims(), map[string]any{"jwk": public("rsa", otherRSA())}),
		"critical parameters":     sign(t, jose.ES256, "ec", ecKey(), r.claims(), map[string]any{"crit": []string{"exp"}, "exp": 1}),
		"a critical one we know":  sign(t, jose.ES256, "ec", ecKey(), r.claims(), map[string]any{"crit": []string{"b64"}, "b64": true}),
		"an ID token's cousin":    sign(t, jose.ES256, "ec", ecKey(), r.claims(), map[string]any{"typ": "logout+jwt"}),
		"a type that is no text":  sign(t, jose.ES256, "ec", ecKey(), r.claims(), map[string]any{"typ": 1}),
		"no signature":            parts[0] + "." + parts[1] + ".",
		"half a signature":        parts[0] + "." + parts[1] + "." + parts[2][:len(parts[2])/2],
		"other claims":            parts[0] + "." + strings.Split(ec(with(r.claims(), "sub", "root")), ".")[1] + "." + parts[2],
		"other header":            strings.Split(ec(r.claims()), ".")[0] + "." + parts[1] + "." + parts[2],
		"a key as padding":        r.good() + "=",
		"five parts":              r.good() + ".x.y",
		"two dots":                "..",
		"no JSON":                 "e30.e30.e30",
		"the claim twice": func() string {
			body := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"a","sub":"b"}`))
			return parts[0] + "." + body + "." + parts[2]
		}(),
	}
	want := fmt.Sprintf("Bearer error=\"invalid_token\", error_description=%q, resource_metadata=\"https://tools.example.com/.well-known/oauth-protected-resource/mcp\", scope=\"execute sessions read\"", msgInvalid)
	for name, token := range attacks {
		refused(t, name, g, request("/mcp", "Bearer "+token), 401, want)
	}
	refused(t, "a huge token", g, request("/mcp", "Bearer "+strings.Repeat("a", 1<<20)+".b.c"), 401, want)
	refused(t, "a static token", g, request("/mcp", "Bearer "+NewToken()), 401, want)
	if n := r.keyQuestions.Load(); n != 1 {
		t.Errorf("attacks made the server ask for keys %d times", n)
	}
}

// TestATokenWithoutAKeysNameMustNotChoose: if two keys fit, neither is tried.
func TestATokenWithoutAKeysNameMustNotChoose(t *testing.T) {
	r := newRealm(t)
	r.publish(public("a", rsaKey()), public("b", otherRSA()))
	if who, err := by(r.gate(r.trusted()), sign(t, jose.RS256, "", rsaKey(), r.claims(), nil)); err == nil {
		t.Errorf("%+v", who)
	}
}

func TestAClaimThatStandsTwiceIsRefused(t *testing.T) {
	r := newRealm(t)
	g := r.gate(r.trusted())
	body := fmt.Sprintf(`{"iss":%q,"aud":%q,"exp":%d,"sub":"user","sub":"root"}`, r.issuer(), audience, r.now().Add(time.Minute).Unix())
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: ecKey(), KeyID: "ec"}}, nil))
	token := must(must(signer.Sign([]byte(body))).CompactSerialize())
	if who, err := by(g, token); err == nil {
		t.Errorf("%+v", who)
	}
}

// TestATokenBoundToACertificateNeedsIt is RFC 8705.
func TestATokenBoundToACertificateNeedsIt(t *testing.T) {
	r := newRealm(t)
	g := r.gate(r.trusted())
	sum := sha256.Sum256(r.Certificate().Raw)
	token := sign(t, jose.ES256, "ec", ecKey(), with(r.claims(), "cnf", map[string]string{"x5t#S256": base64.RawURLEncoding.EncodeToString(sum[:])}), nil)
	req := request("/mcp", "Bearer "+token)
	req.TLS = httptest.NewRequest(http.MethodPost, "https://x/", http.NoBody).TLS
	if who, err := g.Authenticate(req); err == nil {
		t.Errorf("without a certificate: %+v", who)
	}
	req.TLS.PeerCertificates = []*x509.Certificate{r.Certificate()}
	if who, err := g.Authenticate(req); err != nil || who.Name == "" {
		t.Errorf("with it: %+v, %v", who, err)
	}
	req.TLS.PeerCertificates = []*x509.Certificate{{Raw: []byte("another")}}
	if who, err := g.Authenticate(req); err == nil {
		t.Errorf("with another: %+v", who)
	}
}

func TestAPrefixOfScopesIsNeeded(t *testing.T) {
	r := newRealm(t)
	i := r.trusted()
	i.ScopePrefix, i.Scopes = "https://tools.example.com/", []Scope{Execute}
	g := r.gate(i)
	token := sign(t, jose.ES256, "ec", ecKey(), with(r.claims(), "scope", "read tipstaff:admin https://tools.example.com/execute"), nil)
	if who, err := by(g, token); err != nil || fmt.Sprint(who.Scopes) != "[execute]" {
		t.Errorf("%+v, %v", who, err)
	}
	if got := g.Insufficient(Sessions); got.Status != 403 || !strings.Contains(got.Challenge, `error="insufficient_scope"`) ||
		!strings.Contains(got.Challenge, `scope="https://tools.example.com/sessions"`) || !strings.Contains(got.Challenge, "resource_metadata=") {
		t.Errorf("%+v", got)
	}
}

func TestStaticTokensAndAnIssuerAreOnAtOnce(t *testing.T) {
	r := newRealm(t)
	token := NewToken()
	g, err := New(Options{Token: token, Issuer: r.trusted(), Now: r.now})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{token, r.good()} {
		if _, err := by(g, token); err != nil {
			t.Error(err)
		}
	}
	var refusal *Refusal
	if _, err := g.Authenticate(request("/mcp")); !errors.As(err, &refusal) || refusal.Challenge != `Bearer resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp", scope="execute sessions read"` {
		t.Errorf("%+v", refusal)
	}
}

func TestSettingsOfAnIssuerThatAreNotSafe(t *testing.T) {
	ok := Issuer{URL: "https://login.example.com/realms/dev", Audience: audience}
	if err := ok.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Issuer){
		"no URL":                   func(i *Issuer) { i.URL = "" },
		"no audience":              func(i *Issuer) { i.Audience = "" },
		"http":                     func(i *Issuer) { i.URL = "http://login.example.com" },
		"http to what looks local": func(i *Issuer) { i.URL = "http://localhost.example.com" },
		"a password":               func(i *Issuer) { i.URL = "https://u:p@login.example.com" },
		"a query":                  func(i *Issuer) { i.URL += "?x=1" },
		"a file":                   func(i *Issuer) { i.URL = "file:///etc/passwd" },
		"no host":                  func(i *Issuer) { i.URL = "https:///x" },
		"an audience without host": func(i *Issuer) { i.Audience = "tools" },
		"an audience's fragment":   func(i *Issuer) { i.Audience += "#x" },
		"an audience with a quote": func(i *Issuer) { i.Audience += `"` },
		"keys over http":           func(i *Issuer) { i.KeysURL = "http://login.example.com/keys" },
		"none":                     func(i *Issuer) { i.Algorithms = []string{"RS256", "none"} },
		"HS256":                    func(i *Issuer) { i.Algorithms = []string{"HS256"} },
		"an unknown algorithm":     func(i *Issuer) { i.Algorithms = []string{"rs256"} },
		"a prefix with blanks":     func(i *Issuer) { i.ScopePrefix = "a b" },
	} {
		i := ok
		change(&i)
		if err := i.Check(); err == nil {
			t.Errorf("%s: %+v was taken", name, i)
		}
		if _, err := New(Options{Issuer: i}); err == nil {
			t.Errorf("%s: a gate was made", name)
		}
	}
}

func FuzzJWT(f *testing.F) {
	fuzzed := &issuer{
		Issuer: Issuer{URL: "https://i.example", Audience: audience}, algs: asymmetric, now: time.Now, name: "oauth:i.example|",
		keys: &keys{now: time.Now, set: []jose.JSONWebKey{public("ec", ecKey()), public("rsa", rsaKey())}, fetched: time.Now(), tried: time.Now()},
	}
	claims := map[string]any{"iss": "https://i.example", "aud": audience, "sub": "s", "exp": 1 << 40}
	f.Add(sign(f, jose.ES256, "ec", ecKey(), claims, nil))
	f.Add(sign(f, jose.RS256, "rsa", rsaKey(), with(claims, "scope", "x"), map[string]any{"b64": true}))
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		who, err := fuzzed.authenticate(request("/mcp"), token)
		if err == nil && who.Name != "oauth:i.example|s" {
			t.Errorf("%q made %+v", token, who)
		}
	})
}
