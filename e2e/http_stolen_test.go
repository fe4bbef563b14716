//go:build unix

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// TestStolenHandlesAreUseless: bob has the same scopes as alice and tries to
// use her session of the protocol and her terminal session in every possible
// way.
func TestStolenHandlesAreUseless(t *testing.T) {
	t.Parallel()
	w := serveHTTP(t, setup{})
	opened, _ := w.fetch("POST", "/mcp", alices, hello)
	session := opened.Header.Get("Mcp-Session-Id")
	terminal := w.as(alices, stateless).NewSession()
	call := func(tool, arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
	}
	run := call("terminal_execute_command", `{"sessionId":"`+terminal+`","command":"echo","args":["stolen"]}`)
	for _, c := range []struct {
		method, body string
		header       []string
	}{
		{"POST", run, nil},
		{"POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil},
		{"POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, nil},
		{"GET", "", nil},
		{"GET", "", []string{"Last-Event-ID", "AAAA_0"}},
		{"DELETE", "", nil},
	} {
		for token, want := range map[string]int{bobs: http.StatusNotFound, master: http.StatusNotFound, "": http.StatusUnauthorized} {
			if resp, body := w.fetch(c.method, "/mcp", token, c.body, append(c.header, "Mcp-Session-Id", session)...); resp.StatusCode != want {
				t.Errorf("%s %.40s: %d %s", c.method, c.body, resp.StatusCode, body)
			}
		}
	}
	eachEra(t, func(t *testing.T, version string) {
		bob := w.as(bobs, version).On(t)
		for tool, args := range map[string]kit.Args{
			"terminal_execute_command": {"sessionId": terminal, "command": "echo", "args": []string{"stolen"}},
			"terminal_get_status":      {"sessionId": terminal},
			"terminal_close_session":   {"sessionId": terminal},
		} {
			if b := bob.Call(tool, args).JSON(); b.Error != "SESSION_NOT_FOUND" {
				t.Errorf("%s: %+v", tool, b)
			}
		}
	})
	// The owner can still use what was stolen.
	if resp, body := w.fetch("POST", "/mcp", alices, run, "Mcp-Session-Id", session); resp.StatusCode != 200 || !strings.Contains(body, "stolen") {
		t.Errorf("alice: %d %s", resp.StatusCode, body)
	}
	ran := 0
	for _, rec := range w.Records() {
		if rec["event"] == "command.start" {
			ran++
		}
	}
	if ran != 1 {
		t.Errorf("%d commands have run, and only hers may", ran)
	}
}

func TestB12OverHTTPACallerMayHaveAllSessionsUnlessCallersAreBounded(t *testing.T) {
	t.Parallel()
	w := serveHTTP(t, setup{env: []string{"TERMINAL_MAX_SESSIONS=3"}})
	alice := w.as(alices, stateful)
	for range 3 {
		alice.NewSession()
	}
	alice.Call("terminal_create_session", kit.Args{"taskId": "T", "agentId": "A"}).Code("MAX_SESSIONS_EXCEEDED", "more than 3")
}

func TestB12OverHTTPACallerHasItsShareOfTerminalSessionsIfTheOperatorSaysSo(t *testing.T) {
	t.Parallel()
	w := serveHTTP(t, setup{env: []string{"TERMINAL_MAX_SESSIONS=4", "TIPSTAFF_HTTP_TERMINAL_SESSIONS=2"}})
	alice := w.as(alices, stateless)
	alice.NewSession()
	id := alice.NewSession()
	another := kit.Args{"taskId": "T", "agentId": "A"}
	alice.Call("terminal_create_session", another).Code("MAX_SESSIONS_EXCEEDED", "more than 2")
	w.as(bobs, stateful).NewSession()
	if b := alice.Call("terminal_close_session", kit.Args{"sessionId": id}).JSON(); !b.Success {
		t.Errorf("%+v", b)
	}
	alice.NewSession()
}
