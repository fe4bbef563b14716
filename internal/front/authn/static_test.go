package authn

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestATokenOfOursIsLongAndRecognisable(t *testing.T) {
	a, b := NewToken(), NewToken()
	if a == b || !regexp.MustCompile(`^tps_[A-Z2-7]{52}$`).MatchString(a) {
		t.Errorf("%s, %s", a, b)
	}
	if err := CheckToken(a); err != nil {
		t.Error(err)
	}
}

func TestATokenThatCouldBeGuessedIsRefused(t *testing.T) {
	for _, bad := range []string{
		"", "short", strings.Repeat("a", 31), strings.Repeat("a", 64), strings.Repeat("0123456789abcdef", 4),
		strings.Repeat("correct-horse-battery-staple-", 2), "passwordpasswordpasswordpassword1",
		"0123456789 0123456789 abcdefghijklm", "ünsöliges-tökenzeichen-0123456789abc", NewToken() + "\n", strings.Repeat(NewToken(), 200),
	} {
		err := CheckToken(bad)
		if err == nil {
			t.Errorf("%.50q was taken", bad)
		} else if len(bad) > 6 && strings.Contains(err.Error(), bad[:6]) {
			t.Errorf("the error repeats the token: %v", err)
		}
	}
	for _, good := range []string{
		"9f86d081884c7d659a2feaa0c55ad015", "a3bf4f1b2b0b822cd15d6c15b0f00a08", "v1.abcdefGHIJKL0123456789-_~mnopqrst+/==", "3b1f8a90-7c55-4e0d-9a7c-52f1d4c8e6b7",
	} {
		if err := CheckToken(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

func TestOneTokenIsOnePrincipal(t *testing.T) {
	token := NewToken()
	g, err := New(Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	who, err := g.Authenticate(request("/mcp", "Bearer "+token))
	if err != nil || who.Name != "token" || !slices.Equal(who.Scopes, All()) {
		t.Errorf("%+v, %v", who, err)
	}
	for name, r := range map[string]*http.Request{
		"another token":  request("/mcp", "Bearer "+NewToken()),
		"a part of it":   request("/mcp", "Bearer "+token[:len(token)-1]),
		"another case":   request("/mcp", "Bearer "+strings.ToLower(token)),
		"padding":        request("/mcp", "Bearer "+token+"="),
		"another scheme": request("/mcp", "Basic "+token),
		"no b64token":    request("/mcp", "Bearer "+token+"!"),
		"one too long":   request("/mcp", "Bearer "+strings.Repeat(token, 1000)),
	} {
		refused(t, name, g, r, 401, `Bearer error="invalid_token", error_description="`+msgInvalid+`"`)
	}
	refused(t, "nothing", g, request("/mcp"), 401, "Bearer")
	refused(t, "two headers", g, request("/mcp", "Bearer "+token, "Bearer "+token), 400, `Bearer error="invalid_request"`)
	refused(t, "in the query", g, request("/mcp?access_token="+token), 400, `Bearer error="invalid_request"`)
}

// refused checks that a request is refused, and that the answer tells the
// client neither the credential nor the reason.
func refused(t *testing.T, name string, a Authenticator, r *http.Request, status int, challenge string) {
	t.Helper()
	who, err := a.Authenticate(r)
	var refusal *Refusal
	switch {
	case !errors.As(err, &refusal) || who.Name != "" || who.Scopes != nil:
		t.Errorf("%s: %+v, %v", name, who, err)
	case refusal.Status != status || refusal.Challenge != challenge:
		t.Errorf("%s: %d %s, want %d %s", name, refusal.Status, refusal.Challenge, status, challenge)
	case status == 401 && refusal.Msg != msgInvalid && refusal.Msg != msgMissing:
		t.Errorf("%s: the message tells more than that: %s", name, refusal.Msg)
	}
	for _, header := range r.Header["Authorization"] {
		if _, token, _ := strings.Cut(header, " "); len(token) > 8 && strings.Contains(err.Error(), token) {
			t.Errorf("%s: the error repeats the token", name)
		}
	}
}

func TestThereIsNoAnonymousMode(t *testing.T) {
	if g, err := New(Options{}); err == nil {
		t.Errorf("%+v", g)
	}
	var zero Gate
	refused(t, "the zero gate", &zero, request("/mcp", "Bearer "+NewToken()), 401, `Bearer error="invalid_token", error_description="`+msgInvalid+`"`)
	refused(t, "the zero gate, nothing", &zero, request("/mcp"), 401, "Bearer")
	if (Principal{Scopes: All()}).May(Execute) {
		t.Error("nobody may execute")
	}
}

// TestALookUpFindsTheRowWhereverItStands: every row is compared, wherever the
// match is.
func TestALookUpFindsTheRowWhereverItStands(t *testing.T) {
	tokens := []string{NewToken(), NewToken(), NewToken()}
	var rows []staticToken
	for i, token := range tokens {
		row := oneToken(token)[0]
		row.who.Name = "token:" + string(rune('a'+i))
		rows = append(rows, row)
	}
	for i, token := range tokens {
		for _, tables := range [][][]staticToken{{rows}, {nil, rows}, {rows, nil}, {rows[:i], rows[i:]}} {
			if who, err := lookUp(token, time.Now(), tables...); err != nil || who.Name != rows[i].who.Name {
				t.Errorf("%d: %+v, %v", i, who, err)
			}
		}
	}
	if who, err := lookUp(NewToken(), time.Now(), rows); !errors.Is(err, errUnknownToken) || who.Name != "" {
		t.Errorf("%+v, %v", who, err)
	}
}
