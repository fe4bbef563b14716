package authn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// TestKeysRotate: a new key is found when its first token comes, an old one ends
// when the keys are asked for again.
func TestKeysRotate(t *testing.T) {
	r := newRealm(t)
	r.publish(public("old", rsaKey()))
	g := r.gate(r.trusted())
	token := func(kid string, key any) string {
		claims := with(r.claims(), "exp", r.now().Add(24*time.Hour).Unix())
		return sign(t, jose.RS256, kid, key, claims, nil)
	}
	taken := func(when, token string, want bool, questions int32) {
		t.Helper()
		if _, err := by(g, token); (err == nil) != want {
			t.Errorf("%s: %v", when, err)
		}
		if n := r.keyQuestions.Load(); n != questions {
			t.Errorf("%s: %d questions, want %d", when, n, questions)
		}
	}
	before, after := token("old", rsaKey()), token("new", otherRSA())
	taken("at first", before, true, 1)
	taken("a key that is not published", after, false, 1)
	r.publish(public("new", otherRSA()))
	r.pass(keysPause - time.Second)
	taken("too soon after the last question", after, false, 1)
	r.pass(time.Second)
	taken("after the pause", after, true, 2)
	taken("the old key", before, false, 2)

	r.publish(public("third", rsaKey()))
	r.pass(keysFresh - time.Second)
	taken("a withdrawn key while it is fresh", after, true, 2)
	r.pass(time.Second)
	taken("a withdrawn key afterwards", after, false, 3)
}

// TestForgedKeyNamesDoNotMakeManyQuestions, and do not delay good tokens.
func TestForgedKeyNamesDoNotMakeManyQuestions(t *testing.T) {
	r := newRealm(t)
	g := r.gate(r.trusted())
	good := r.good()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 25 {
				forged := sign(t, jose.ES256, strings.Repeat("k", 1+i*25+j), ecKey(), r.claims(), nil)
				if _, err := by(g, forged); err == nil {
					t.Error("a forged token was taken")
				}
				if _, err := by(g, good); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := r.keyQuestions.Load(); n != 1 {
		t.Errorf("%d questions", n)
	}
}

// TestOldKeysCountWhileTheIssuerIsDown: for a while.
func TestOldKeysCountWhileTheIssuerIsDown(t *testing.T) {
	r := newRealm(t)
	g := r.gate(r.trusted())
	token := func() string { return r.good() }
	r.fail(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	var refusal *Refusal
	if _, err := by(g, token()); !errors.As(err, &refusal) || refusal.Status != 503 || refusal.Challenge != "" || !errors.Is(err, errKeysOut) {
		t.Errorf("without any keys: %v", err)
	}
	r.fail(nil)
	r.pass(keysPause)
	if _, err := by(g, token()); err != nil {
		t.Error(err)
	}
	r.fail(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	r.pass(keysStale - time.Second)
	if _, err := by(g, token()); err != nil {
		t.Error("with stale keys:", err)
	}
	r.pass(time.Second)
	if _, err := by(g, token()); !errors.As(err, &refusal) || refusal.Status != 503 {
		t.Errorf("with keys that are too old: %v", err)
	}
	r.fail(nil)
	r.pass(keysPause)
	if _, err := by(g, token()); err != nil {
		t.Error("when it is back:", err)
	}
}

// TestAClientThatLeavesTakesNothingAlong: others that wait for the same fetch
// get the answer.
func TestAClientThatLeavesTakesNothingAlong(t *testing.T) {
	r := newRealm(t)
	g := r.gate(r.trusted())
	asked, answer := make(chan struct{}), make(chan struct{})
	r.fail(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-answer
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{public("rsa", rsaKey())}})
	})
	good := r.good()
	ctx, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := g.Authenticate(request("/mcp", "Bearer "+good).WithContext(ctx))
		first <- err
	}()
	<-asked
	leave()
	waiting := make(chan error, 1)
	go func() { _, err := by(g, good); waiting <- err }()
	gone, left := context.WithCancel(t.Context())
	left()
	var refusal *Refusal
	if _, err := g.Authenticate(request("/mcp", "Bearer "+good).WithContext(gone)); !errors.As(err, &refusal) || refusal.Status != 503 {
		t.Errorf("one that waits and leaves: %v", err)
	}
	close(answer)
	if err := <-waiting; err != nil {
		t.Error("one that waits:", err)
	}
	<-first
	if _, err := by(g, good); err != nil {
		t.Error("afterwards:", err)
	}
}

func TestKeysThatShouldNotBePublishedAreNotUsed(t *testing.T) {
	r := newRealm(t)
	var log bytes.Buffer
	weak := must(jose.JSONWebKey{Key: weakRSA(), KeyID: "weak"}.MarshalJSON())
	r.publish(
		jose.JSONWebKey{Key: rsaKey(), KeyID: "private"}, jose.JSONWebKey{Key: []byte("0123456789abcdef0123456789abcdef"), KeyID: "shared"}, json.RawMessage(weak),
		map[string]any{"kty": "RSA", "kid": "half", "n": "AQAB", "e": "AQAB", "d": "AQAB"}, map[string]any{"kty": "future", "kid": "x"}, map[string]any{"kty": "EC", "crv": "P-0"}, 7,
		jose.JSONWebKey{Key: ecKey().Public(), KeyID: "enc", Use: "enc"}, jose.JSONWebKey{Key: ecKey().Public(), KeyID: "alg", Algorithm: "ES384"},
		map[string]any{"kty": "OKP", "crv": "X25519", "kid": "x", "x": "AQAB"}, public("ed", edKey()),
	)
	g, err := New(Options{Issuer: r.trusted(), Now: r.now, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := by(g, sign(t, jose.EdDSA, "ed", edKey(), r.claims(), nil)); err != nil {
		t.Error("the good key among them:", err)
	}
	for kid, token := range map[string]string{
		"private": sign(t, jose.RS256, "private", rsaKey(), r.claims(), nil),
		"enc":     sign(t, jose.ES256, "enc", ecKey(), r.claims(), nil),
		"alg":     sign(t, jose.ES256, "alg", ecKey(), r.claims(), nil),
		"shared":  sign(t, jose.HS256, "shared", []byte("0123456789abcdef0123456789abcdef"), r.claims(), nil),
	} {
		if who, err := by(g, token); err == nil {
			t.Errorf("%s: %+v", kid, who)
		}
	}
	for _, want := range []string{"key 1 is secret", "key 2 is secret", "key 3 has 1024 bits", "key 4 is secret", "key 6 cannot be read", "key 7 is no JSON Web Key"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log: %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "key 5") || strings.Contains(log.String(), "key 8") || strings.Contains(log.String(), "key 10") {
		t.Errorf("a harmless key was complained of: %s", log.String())
	}
}

// TestAnIssuerThatAnswersBadly: none of it makes a key.
func TestAnIssuerThatAnswersBadly(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{public("rsa", rsaKey())}})
	}))
	defer plain.Close()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a redirect to http": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, plain.URL, http.StatusFound) }, "redirect"},
		"a redirect to itself": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"?x", http.StatusTemporaryRedirect)
		}, "redirect"},
		"a huge document": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, io.LimitReader(endless{}, 1<<30))
		}, "more than 1048576 bytes"},
		"many keys": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"keys":[`+strings.Repeat("{},", 100)+"{}]}")
		}, "more than 100 keys"},
		"no keys": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"keys":[]}`) }, "no key in it"},
		"a list":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[]`) }, "cannot unmarshal"},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `<html>`) }, "invalid character"},
		"half a body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "{")
		}, "EOF"},
		"not found":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "404"},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "204"},
	} {
		r := newRealm(t)
		r.fail(c.answer)
		_, err := by(r.gate(r.trusted()), r.good())
		if !errors.Is(err, errKeysOut) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// endless is JSON that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	return len(p), nil
}

// TestASlowIssuerIsNotWaitedFor, neither for its headers nor for its body.
func TestASlowIssuerIsNotWaitedFor(t *testing.T) {
	r := newRealm(t)
	f := newFetcher(r.trusted().Roots)
	f.client.Timeout = 50 * time.Millisecond
	var doc keyDocument
	for name, begin := range map[string]func(http.ResponseWriter){
		"no header": func(http.ResponseWriter) {},
		"no body":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"keys":`); w.(http.Flusher).Flush() },
	} {
		hold := make(chan struct{})
		r.fail(func(w http.ResponseWriter, _ *http.Request) { begin(w); <-hold })
		err := f.get(t.Context(), r.URL+"/keys", &doc)
		close(hold)
		if err == nil || !strings.Contains(err.Error(), "Client.Timeout") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if newFetcher(nil).client.Timeout != fetchTime {
		t.Error("a fetcher is not bounded in time")
	}
}

func TestAnIssuerWithoutAKnownCertificateIsNotBelieved(t *testing.T) {
	r := newRealm(t)
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	i := r.trusted()
	i.Roots = nil
	if _, err := by(r.gate(i), r.good()); !errors.Is(err, errKeysOut) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
}
