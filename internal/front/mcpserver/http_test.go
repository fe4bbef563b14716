package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
)

// web is a front over HTTP under test. A header names the principal, which no
// real server would believe.
type web struct {
	t       *testing.T
	url     string
	handler *HTTPHandler
}

func webOptions() HTTPOptions {
	return HTTPOptions{Sessions: 100, OwnSessions: 50, OwnCalls: 20, Idle: time.Hour, KeepAlive: time.Minute, ReplayBytes: 1 << 20, WriteTimeout: 5 * time.Second}
}

func serveWeb(t *testing.T, o Options, h HTTPOptions) *web {
	t.Helper()
	handler := NewHTTPHandler(NewServer(o), h)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := authn.Principal{Name: r.Header.Get("X-Principal"), Scopes: authn.All()}
		if s := r.Header.Get("X-Scope"); s != "" {
			p.Scopes = []authn.Scope{authn.Scope(s)}
		}
		handler.ServeHTTP(w, r.WithContext(authn.NewContext(r.Context(), p)))
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		handler.Close(ctx, errors.New("the test is over"))
		srv.CloseClientConnections()
		srv.Close()
	})
	return &web{t: t, url: srv.URL, handler: handler}
}

// as is an HTTP client of a principal, with a header or two of its own.
func as(principal string, more ...string) *http.Client {
	return &http.Client{Transport: headers{principal, more}}
}

type headers struct {
	principal string
	more      []string
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Principal", h.principal)
	for i := 0; i+1 < len(h.more); i += 2 {
		r.Header.Set(h.more[i], h.more[i+1])
	}
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects a client of the library. A modern one speaks 2026-07-28.
func (w *web) dial(c *http.Client, modern bool) *mcp.ClientSession {
	w.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	o := &mcp.ClientSessionOptions{}
	if !modern {
		o.ProtocolVersion = lastStateful
	}
	cs, err := client.Connect(w.t.Context(), &mcp.StreamableClientTransport{Endpoint: w.url, HTTPClient: c, DisableStandaloneSSE: true, MaxRetries: -1}, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// eras runs a test once in each.
func eras(t *testing.T, f func(t *testing.T, modern bool)) {
	t.Helper()
	for name, modern := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
		t.Run(name, func(t *testing.T) { f(t, modern) })
	}
}

// reply is an answer with its body read.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes one request.
func (w *web) send(c *http.Client, method, body string, header ...string) reply {
	w.t.Helper()
	resp := w.open(w.t.Context(), c, method, body, header...)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(b)}
}

// open makes one request whose answer is read by the caller.
func (w *web) open(ctx context.Context, c *http.Client, method, body string, header ...string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// begin initializes a session by hand and returns its id.
func (w *web) begin(c *http.Client) string {
	w.t.Helper()
	r := w.send(c, "POST", fmt.Sprintf(initialize, lastStateful))
	id := r.header.Get(sessionHeader)
	if r.status != http.StatusOK || id == "" {
		w.t.Fatalf("initialize: %d %s", r.status, r.body)
	}
	return id
}

func callBody(id int, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

const echo = `{"command":"echo"}`

// blocking returns a monitor whose commands run until they are ended, and reports
// when one has begun and why it has ended.
func blocking() (r *fakeMonitor, begun chan struct{}, ended chan error) {
	begun, ended = make(chan struct{}, 100), make(chan error, 100)
	return &fakeMonitor{execute: func(ctx context.Context, _ tipstaff.Request) (tipstaff.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return tipstaff.Result{Cause: tipstaff.Cancelled}, nil
	}}, begun, ended
}

func within[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("not within twenty seconds: %s", what)
	}
	return v
}

func execute(ctx context.Context, cs *mcp.ClientSession) (*mcp.CallToolResult, error) {
	return cs.CallTool(ctx, &mcp.CallToolParams{Name: "execute_command", Arguments: map[string]any{"command": "echo"}})
}

func TestBothErasAreServedAtOneEndpoint(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		var seen tipstaff.Origin
		o := (&fakeMonitor{execute: func(_ context.Context, r tipstaff.Request) (tipstaff.Result, error) {
			seen = r.Origin
			return exited(0, "x", ""), nil
		}}).options()
		cs := serveWeb(t, o, webOptions()).dial(as("alice"), modern)
		if res, err := execute(t.Context(), cs); err != nil || res.IsError {
			t.Fatalf("%v %v", res, err)
		}
		want := map[bool]string{false: lastStateful, true: firstStateless}[modern]
		if got := cs.InitializeResult().ProtocolVersion; got != want {
			t.Errorf("they agreed on %s", got)
		}
		if seen.Front != "http" || seen.Principal != "alice" || seen.Client != "test/1" || !strings.Contains(seen.Call, "/") {
			t.Errorf("the record would name %+v", seen)
		}
	})
}

func TestEveryOlderRevisionIsServed(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		r := w.send(as("a"), "POST", fmt.Sprintf(initialize, version))
		if r.status != http.StatusOK || !strings.Contains(r.body, `"protocolVersion":"`+version+`"`) {
			t.Errorf("%s: %d %s", version, r.status, r.body)
		}
	}
}

func TestNobodyGetsIn(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	if r := w.send(as(""), "POST", fmt.Sprintf(initialize, lastStateful)); r.status != http.StatusUnauthorized {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestASessionOfAnotherPrincipalIsNotThere(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	id := w.begin(as("alice"))
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, method := range []string{"POST", "GET", "DELETE"} {
		theirs := w.send(as("mallory"), method, ping, sessionHeader, id)
		none := w.send(as("mallory"), method, ping, sessionHeader, "NOSUCHSESSION")
		if theirs.status != http.StatusNotFound || theirs.body != none.body {
			t.Errorf("%s: %d %s, and for one that never was: %s", method, theirs.status, theirs.body, none.body)
		}
	}
	if r := w.send(as("alice"), "POST", ping, sessionHeader, id); r.status != http.StatusOK {
		t.Errorf("its owner: %d %s", r.status, r.body)
	}
}

func TestTheLibraryBindsSessionsToPrincipalsAsWell(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	id := w.begin(as("alice"))
	// Past our own table, straight to the library.
	in := &inbound{peer: &peer{web: &webPeer{}}, principal: authn.Principal{Name: "mallory"}}
	r := httptest.NewRequest("POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	r.Header.Set("Authorization", "Bearer -")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(sessionHeader, id)
	rec := httptest.NewRecorder()
	w.handler.stateful.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), requestKey{}, in)))
	if rec.Code != http.StatusForbidden {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestB8TerminalSessionsBelongToThePrincipal(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
		cs := w.dial(as("alice"), modern)
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "terminal_create_session", Arguments: map[string]any{"taskId": "T", "agentId": "A"}})
		if err != nil || res.IsError {
			t.Fatalf("%v %v", res, err)
		}
		var made struct{ SessionID string }
		if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &made); err != nil {
			t.Fatal(err)
		}
		_ = cs.Close()
		status := func(cs *mcp.ClientSession) string {
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "terminal_get_status", Arguments: map[string]any{"sessionId": made.SessionID}})
			if err != nil {
				t.Fatal(err)
			}
			return res.Content[0].(*mcp.TextContent).Text
		}
		if got := status(w.dial(as("alice"), !modern)); !strings.Contains(got, `"success":true`) {
			t.Errorf("after she came back: %s", got)
		}
		if got := status(w.dial(as("mallory"), modern)); !strings.Contains(got, "SESSION_NOT_FOUND") {
			t.Errorf("somebody else: %s", got)
		}
	})
}

func TestScopesSayWhichToolsThereAre(t *testing.T) {
	var refused []string
	r := &noting{fakeMonitor: &fakeMonitor{}, refused: func(req tipstaff.Request, err error) {
		refused = append(refused, string(req.Tool)+" "+req.Origin.Principal+" "+string(tipstaff.AsError(err).Code))
	}}
	o := r.options()
	o.Monitor = r
	w := serveWeb(t, o, webOptions())
	for scope, want := range map[string][]string{
		"execute":  {"execute_command", "execute_process"},
		"sessions": {"terminal_close_session", "terminal_create_session", "terminal_execute_command", "terminal_get_status"},
		"read":     {"terminal_get_status"},
		"admin":    nil,
	} {
		res, err := w.dial(as("a", "X-Scope", scope), true).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range res.Tools {
			got = append(got, tool.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s sees %q", scope, got)
		}
	}
	res, err := execute(t.Context(), w.dial(as("a", "X-Scope", "read"), true))
	if err != nil || !res.IsError {
		t.Fatalf("%v %v", res, err)
	}
	if text := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, "needs the scope execute") || !strings.Contains(text, "ask the operator") {
		t.Errorf("it was told %q", text)
	}
	if want := []string{"execute_command a SCOPE_MISSING"}; !slices.Equal(refused, want) {
		t.Errorf("recorded %q", refused)
	}
}

// noting is a monitor that reports refusals.
type noting struct {
	*fakeMonitor

	refused func(tipstaff.Request, error)
}

func (n *noting) NoteRefusal(req tipstaff.Request, err error) { n.refused(req, err) }

func TestAPrincipalThatCouldGetTheScopeIsSentForIt(t *testing.T) {
	var refused int
	r := &noting{fakeMonitor: &fakeMonitor{}, refused: func(tipstaff.Request, error) { refused++ }}
	o := r.options()
	o.Monitor = r
	h := webOptions()
	h.Challenge = func(p authn.Principal, s []authn.Scope) string {
		return fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, s[0])
	}
	w := serveWeb(t, o, h)
	c := as("a", "X-Scope", "read")
	got := w.send(c, "POST", callBody(1, "execute_command", echo), sessionHeader, w.begin(c))
	if got.status != http.StatusForbidden || got.header.Get("WWW-Authenticate") != `Bearer error="insufficient_scope", scope="execute"` || refused != 1 {
		t.Errorf("%d %v %s; %d records", got.status, got.header, got.body, refused)
	}
}
