package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
)

func TestMalformedRequestsGetTheRightStatus(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	c := as("a")
	session := w.begin(c)
	deep := strings.Repeat("[", 100_000)
	for name, x := range map[string]struct {
		body   string
		header []string
		want   int
	}{
		"nothing":                  {"", nil, 400},
		"half a message":           {`{"jsonrpc":"2.0","id":1,`, nil, 400},
		"two messages":             {`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, nil, 400},
		"a number":                 {`5`, nil, 400},
		"null":                     {`null`, nil, 400},
		"no JSON-RPC":              {`{}`, nil, 400},
		"another JSON-RPC":         {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400},
		"an id that is not whole":  {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, nil, 400},
		"a call without id":        {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"execute_command"}}`, nil, 400},
		"a method that is none":    {`{"jsonrpc":"2.0","id":1,"method":"rm -rf"}`, nil, 200}, // with an error
		"a name that stands twice": {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}`, nil, 400},
		"deep":                     {deep + strings.Repeat("]", 100_000), nil, 400},
		"deep arguments":           {callBody(1, "execute_command", `{"command":`+deep[:5000]+strings.Repeat("]", 5000)+`}`), nil, 400},
		"an empty batch":           {`[]`, nil, 400},
		"a batch of a later time":  {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, []string{versionHeader, lastStateful}, 400},
		"a batch of another thing": {`[1,2]`, nil, 400},
		"another content type":     {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Content-Type", "text/plain"}, 415},
		"a client that takes none": {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Accept", "text/html"}, 400},
		"a version that is none":   {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{versionHeader, "1999-01-01"}, 400},
		"a version of the future":  {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{versionHeader, "2999-01-01"}, 400},
		"a session that is none":   {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{sessionHeader, "x"}, 404},
	} {
		got := w.send(c, "POST", x.body, append([]string{sessionHeader, session}, x.header...)...)
		if got.status != x.want {
			t.Errorf("%s: %d %.300s", name, got.status, got.body)
		}
	}
	if got := w.send(c, "POST", callBody(1, "execute_command", echo)); got.status != 400 || !strings.Contains(got.body, "initialize") {
		t.Errorf("a call without a session: %d %s", got.status, got.body)
	}
	if got := w.send(c, "PUT", "{}", sessionHeader, session); got.status != 405 {
		t.Errorf("another method: %d %s", got.status, got.body)
	}
	if got := w.send(c, "POST", callBody(1, "execute_command", echo), sessionHeader, session); !strings.Contains(got.body, "exit_code: 0") {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
}

func TestABatchOfItsTimeIsAnswered(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	c := as("a")
	session := w.begin(c)
	body := `[` + callBody(1, "execute_command", `{"command":"one"}`) + `,` + callBody(2, "execute_command", `{"command":"two"}`) + `]`
	got := w.send(c, "POST", body, sessionHeader, session, versionHeader, "2025-03-26")
	if got.status != 200 || !strings.Contains(got.body, "one") || !strings.Contains(got.body, "two") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestLargeBodies(t *testing.T) {
	var got int
	o := (&fakeMonitor{execute: func(_ context.Context, r tipstaff.Request) (tipstaff.Result, error) {
		got = len(r.Stdin)
		return exited(0, "", ""), nil
	}}).options()
	w := serveWeb(t, o, webOptions())
	c := as("a")
	session := w.begin(c)
	input := strings.Repeat("x", 10<<20)
	if r := w.send(c, "POST", callBody(1, "execute_command", `{"command":"cat","input":"`+input+`"}`), sessionHeader, session); got != len(input) {
		t.Errorf("10 MB: %d %.200s, %d bytes arrived", r.status, r.body, got)
	}
	for name, body := range map[string]io.Reader{
		"that says so":         strings.NewReader(strings.Repeat(" ", maxLine+1)),
		"that does not say so": struct{ io.Reader }{strings.NewReader(strings.Repeat(" ", maxLine+1))},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", w.url, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(sessionHeader, session)
		resp, err := c.Do(req)
		if err != nil {
			continue // the server has hung up before all was sent
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a body %s: %d", name, resp.StatusCode)
		}
	}
	if n := len(w.handler.large); n != 0 {
		t.Errorf("%d places for large bodies are still taken", n)
	}
}

func TestAPrincipalHasItsShareOfSessionsAndCalls(t *testing.T) {
	r, begun, _ := blocking()
	h := webOptions()
	h.OwnSessions, h.OwnCalls = 2, 1
	w := serveWeb(t, r.options(), h)
	alice, bob := as("alice"), as("bob")
	first := w.begin(alice)
	w.begin(alice)
	got := w.send(alice, "POST", fmt.Sprintf(initialize, lastStateful))
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("a third session: %d %s", got.status, got.body)
	}
	session := w.begin(bob)
	resp := w.open(t.Context(), alice, "POST", callBody(1, "execute_command", echo), sessionHeader, first, versionHeader, lastStateful)
	defer func() { _ = resp.Body.Close() }()
	within(t, "the command begins", begun)
	got = w.send(alice, "POST", callBody(2, "execute_command", echo), sessionHeader, first)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("a second call: %d %s", got.status, got.body)
	}
	other := w.open(t.Context(), bob, "POST", callBody(1, "execute_command", echo), sessionHeader, session, versionHeader, lastStateful)
	defer func() { _ = other.Body.Close() }()
	within(t, "the command of somebody else begins", begun)
	if got := w.send(alice, "DELETE", "", sessionHeader, first); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.begin(alice)
}

func TestClosingEndsEverythingAndTakesNothingNew(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		r, begun, ended := blocking()
		h := webOptions()
		h.KeepAlive = 20 * time.Millisecond
		w := serveWeb(t, r.options(), h)
		resp := w.call(t.Context(), modern)
		defer func() { _ = resp.Body.Close() }()
		within(t, "the command begins", begun)
		why := errors.New("enough")
		w.handler.Close(t.Context(), why)
		if cause := within(t, "the command is ended", ended); !errors.Is(cause, why) {
			t.Errorf("because %v", cause)
		}
		if got := w.send(as("alice"), "POST", fmt.Sprintf(initialize, lastStateful)); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Errorf("afterwards: %d %s", got.status, got.body)
		}
	})
}

func TestWhatAClientWritesIntoHeadersReachesNobody(t *testing.T) {
	// Handlers do not see credentials, and no header of a client can replace
	// what the transport has found out.
	var mu sync.Mutex
	var seen []string
	s := NewServer((&fakeMonitor{}).options())
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if x := req.GetExtra(); x != nil {
				mu.Lock()
				seen = append(seen, fmt.Sprint(x.Header["Authorization"], x.Header["Cookie"], x.TokenInfo.UserID))
				mu.Unlock()
			}
			return next(ctx, method, req)
		}
	})
	h := NewHTTPHandler(s, webOptions())
	t.Cleanup(func() { h.Close(context.Background(), errors.New("over")) })
	req := httptest.NewRequest("POST", "/", strings.NewReader(fmt.Sprintf(initialize, lastStateful)))
	req.Header = http.Header{"Authorization": {"Bearer secret"}, "Cookie": {"secret"}, "Content-Type": {"application/json"}, "Accept": {"*/*"}}
	h.ServeHTTP(httptest.NewRecorder(), req.WithContext(authn.NewContext(t.Context(), authn.Principal{Name: "alice"})))
	if want := []string{"[Bearer -] []alice"}; !slices.Equal(seen, want) {
		t.Errorf("handlers saw %q", seen)
	}
}
