package mcpfront

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/identity"
)

// What a session may cost while it waits, and how many wait.
const (
	waitingSessions = 10_000
	sessionBudget   = 8 << 10
)

// TestAWaitingSessionCostsLittle begins sessions as clients do, lets each make a
// call, and weighs what is left: heap, stacks and all that the runtime keeps.
func TestAWaitingSessionCostsLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it begins ten thousand sessions")
	}
	o := webOptions()
	o.Sessions, o.OwnSessions, o.Rest = waitingSessions, waitingSessions, 100*time.Millisecond
	h := NewHTTPHandler(NewServer((&road{}).options()), o)
	defer h.Close(t.Context(), errDeleted)
	answer := func(session, body string) *http.Response {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set(sessionHeader, session)
			r.Header.Set(versionHeader, lastStateful)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), identity.Principal{Name: "alice", Scopes: identity.All()})))
		return w.Result()
	}
	begin := func(i int) {
		id := answer("", fmt.Sprintf(initialize, lastStateful)).Header.Get(sessionHeader)
		if id == "" {
			t.Fatalf("session %d has not begun", i)
		}
		answer(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		body, err := io.ReadAll(answer(id, callBody(1, "execute_command", echo)).Body)
		if err != nil || !strings.Contains(string(body), "exit_code: 0") {
			t.Fatalf("session %d: %s %v", i, body, err)
		}
	}
	for i := range 100 {
		begin(i) // what the first ones make is nobody's
	}
	before := weigh()
	for i := range waitingSessions - 100 {
		begin(i)
	}
	for len(h.sessions.where(func(p *peer) bool { return p.web.live() != nil })) > 0 {
		runtime.Gosched() // until all of them rest
	}
	each := (weigh() - before) / (waitingSessions - 100)
	t.Logf("%d bytes a session", each)
	if each > sessionBudget {
		t.Errorf("a waiting session costs %d bytes, more than %d", each, sessionBudget)
	}
	runtime.KeepAlive(h)
}

// weigh gives what is in use, after what can be thrown away has been.
func weigh() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse + m.MSpanInuse + m.OtherSys)
}
