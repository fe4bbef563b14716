package mcpserver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"tipstaff/internal/front/authn"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// What an idle session may cost, and the number of sessions.
const (
	waitingSessions = 10_000
	sessionBudget   = 20_000
)

// crowded is a handler that takes as many sessions.
func crowded(t *testing.T) *HTTPHandler {
	t.Helper()
	o := webOptions()
	o.Sessions, o.OwnSessions = waitingSessions, waitingSessions
	h := NewHTTPHandler(NewServer((&fakeMonitor{}).options()), o)
	t.Cleanup(func() { h.Close(t.Context(), errDeleted) })
	return h
}

// beginAndWait begins a session as clients do and lets it make a call.
func (h *HTTPHandler) beginAndWait(t *testing.T, arguments string) {
	t.Helper()
	answer := func(session, body string) *http.Response {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set(sessionHeader, session)
			r.Header.Set(versionHeader, lastStateful)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(authn.NewContext(r.Context(), authn.Principal{Name: "alice", Scopes: authn.All()})))
		return w.Result()
	}
	id := answer("", fmt.Sprintf(initialize, lastStateful)).Header.Get(sessionHeader)
	if id == "" {
		t.Fatal("a session has not begun")
	}
	answer(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	body, err := io.ReadAll(answer(id, callBody(1, "execute_command", arguments)).Body)
	if err != nil || !strings.Contains(string(body), "exit_code: 0") {
		t.Fatalf("a call: %.300s %v", body, err)
	}
}

// TestAWaitingSessionCostsLittle measures what idle sessions keep: heap, stacks
// and everything of the runtime.
func TestAWaitingSessionCostsLittle(t *testing.T) {
	testcmdtest.Long(t)
	if testing.Short() {
		t.Skip("it begins ten thousand sessions")
	}
	for name, c := range map[string]struct {
		sessions  int
		arguments string
	}{
		"after short calls":    {waitingSessions - 200, echo},
		"after a long message": {200, `{"command":"echo ` + strings.Repeat("x", 40<<10) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			h := crowded(t)
			for range 100 {
				h.beginAndWait(t, echo) // what the first ones allocate is shared and not counted
			}
			before := weigh()
			for range c.sessions {
				h.beginAndWait(t, c.arguments)
			}
			each := (weigh() - before) / c.sessions
			t.Logf("%d bytes a session", each)
			if each > sessionBudget {
				t.Errorf("a waiting session costs %d bytes, more than %d", each, sessionBudget)
			}
			runtime.KeepAlive(h)
		})
	}
}

// weigh returns the memory in use, after a collection.
func weigh() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse + m.MSpanInuse + m.OtherSys)
}
