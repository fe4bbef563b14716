package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/front/authn"
)

// FuzzHTTPHandler sends arbitrary requests to the handler, with and without a
// principal. It must not panic, must answer requests without a principal with
// 401 alone, and must not run anything that is not a call.
func FuzzHTTPHandler(f *testing.F) {
	var ran atomic.Int64
	r := &fakeMonitor{execute: func(context.Context, tipstaff.Request) (tipstaff.Result, error) {
		ran.Add(1)
		return exited(0, "", ""), nil
	}}
	h := NewHTTPHandler(NewServer(r.options()), webOptions())
	f.Cleanup(func() { h.Close(context.Background(), errors.New("over")) })
	as := func(principal string, req *http.Request) *httptest.ResponseRecorder {
		limit := 20 * time.Second
		if req.Method == http.MethodGet {
			limit = 200 * time.Millisecond // of a stream
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req.WithContext(authn.NewContext(ctx, authn.Principal{Name: principal, Scopes: authn.All()})))
		return rec
	}
	begin := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(fmt.Sprintf(initialize, lastStateful)))
	begin.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	session := as("fuzz", begin).Header().Get(sessionHeader)
	if session == "" {
		f.Fatal("no session")
	}
	call := callBody(1, "execute_command", echo)
	for _, s := range []struct{ method, version, id, event, kind, body string }{
		{"POST", lastStateful, "own", "", "application/json", call},
		{"POST", firstStateless, "", "", "application/json", call},
		{"POST", "", "", "", "application/json", fmt.Sprintf(initialize, lastStateful)},
		{"POST", "2025-03-26", "own", "", "application/json", "[" + call + "," + call + "]"},
		{"POST", "", "own", "", "text/plain", call},
		{"POST", "", "own", "", "application/json", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
		{"POST", "", "own", "", "application/json", call[:len(call)/2]},
		{"GET", "", "own", "AAAA_1", "", ""},
		{"DELETE", "", "x", "", "", ""},
		{"PUT", "\xff", "\x00", "_", "application/json", "\xff"},
	} {
		f.Add(s.method, s.version, s.id, s.event, s.kind, s.body, true)
		f.Add(s.method, s.version, s.id, s.event, s.kind, s.body, false)
	}
	f.Fuzz(func(t *testing.T, method, version, id, event, kind, body string, known bool) {
		req := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		if id == "own" {
			if id = session; method == http.MethodDelete {
				return // the others need it
			}
		}
		req.Method, req.Header = method, http.Header{"Accept": {"application/json, text/event-stream"}}
		for name, value := range map[string]string{versionHeader: version, sessionHeader: id, "Last-Event-Id": event, "Content-Type": kind} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		if version >= firstStateless {
			req.Header.Set("Mcp-Method", "tools/call")
			req.Header.Set("Mcp-Name", "execute_command")
		}
		principal := ""
		if known {
			principal = "fuzz"
		}
		before := ran.Load()
		rec := as(principal, req)
		if !known && rec.Code != http.StatusUnauthorized {
			t.Errorf("nobody was told %d %s", rec.Code, rec.Body)
		}
		if known && rec.Code >= http.StatusInternalServerError && rec.Code != http.StatusServiceUnavailable {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		if n := ran.Load() - before; n > 0 && (!known || method != http.MethodPost || !names(body, "execute_")) {
			t.Errorf("%d commands have run", n)
		}
	})
}

// names reports whether a text stands in JSON, however it is escaped there.
func names(body, text string) bool {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return false
	}
	plain, err := json.Marshal(v)
	return err == nil && strings.Contains(string(plain), text)
}
