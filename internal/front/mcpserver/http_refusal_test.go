package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestEveryRefusalOverHTTPIsAnErrorOfTheProtocol(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	c := as("a")
	session := w.begin(c)
	good := fmt.Sprintf(ping, 1)
	modern := []string{sessionHeader, "", versionHeader, firstStateless}
	for _, x := range []struct {
		what, method, body string
		header             []string
		status             int
		want               string // within the answer
	}{
		{"an unknown method", "POST", `{"jsonrpc":"2.0","id":5,"method":"foo/bar"}`, nil, 200, `"code":-32601,"message":"method not found: \"foo/bar\""},"id":5`},
		{"a method without a name", "POST", `{"jsonrpc":"2.0","id":5,"method":""}`, nil, 200, `"code":-32601`},
		{"an unknown method without a session", "POST", `{"jsonrpc":"2.0","id":5,"method":"foo/bar","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, append(modern, "Mcp-Method", "foo/bar"), 404, `"code":-32601,"message":"method not found: \"foo/bar\""`},
		{"an unknown method in a batch", "POST", `[` + good + `,{"jsonrpc":"2.0","id":5,"method":"foo/bar"}]`, []string{versionHeader, "2025-03-26"}, 400, `"code":-32601`},
		{"two requests with one id in a batch", "POST", `[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"\u0061","method":"ping"}]`, []string{versionHeader, "2025-03-26"}, 400, `two requests of this batch have this id"},"id":"\u0061"`},
		{"a call without params", "POST", `{"jsonrpc":"2.0","id":"x","method":"tools/call"}`, nil, 200, `"code":-32602,"message":"invalid params: this method needs params"},"id":"x"`},
		{"a call without a session", "POST", `{"jsonrpc":"2.0","id":"x","method":"tools/list"}`, []string{sessionHeader, ""}, 400, `"id":"x"`},
		{"a batch of a later time", "POST", `[` + good + `]`, []string{versionHeader, lastStateful}, 400, `"code":-32600`},
		{"a client that takes no stream", "POST", good, []string{"Accept", "application/json"}, 400, `"code":-32600`},
		{"a place in a stream that is none", "GET", "", []string{"Last-Event-ID", "x"}, 400, `"code":-32600`},
		{"a stream without a session", "GET", "", []string{sessionHeader, ""}, 400, `"code":-32600`},
		{"a session that is none", "GET", "", []string{sessionHeader, "x"}, 404, `"code":-32001`},
		{"another method of HTTP", "PUT", "{}", nil, 405, `"code":-32600`},
		{"a version of the future", "POST", good, []string{versionHeader, "2027-01-01"}, 400, `"code":-32022,"data":{"supported":["2026-07-28"`},
		{"a version of the future without a session", "POST", good, []string{sessionHeader, "", versionHeader, "2027-01-01"}, 400, `"code":-32022`},
		{"a version that never was", "POST", good, []string{versionHeader, "2024-01-01"}, 400, `"id":1`},
		{"a stream in a version of the future", "GET", "", []string{versionHeader, "2027-01-01"}, 400, `"code":-32022`},
		{"the end of a session in a version of the future", "DELETE", "", []string{versionHeader, "2027-01-01"}, 400, `"code":-32022`},
	} {
		got := w.send(c, x.method, x.body, append([]string{sessionHeader, session}, x.header...)...)
		if got.status != x.status || !json.Valid([]byte(got.body)) || got.header.Get("Content-Type") != "application/json" || !strings.Contains(got.body, x.want) {
			t.Errorf("%s: %d %s %s", x.what, got.status, got.header.Get("Content-Type"), got.body)
		}
	}
	if got := w.send(c, "POST", good, sessionHeader, session); got.status != 200 || !strings.Contains(got.body, `"result"`) {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
}

// TestParamsThatCannotBeReadAreInvalidParams, in words that name no type of the library.
func TestParamsThatCannotBeReadAreInvalidParams(t *testing.T) {
	const wrong = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":5}}`
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	if got := w.send(as("a"), "POST", wrong); !strings.Contains(got.body, `"code":-32602,"message":"invalid params: they do not have the form`) {
		t.Errorf("over HTTP: %d %s", got.status, got.body)
	}
	say, hear, _ := lines(t, (&fakeMonitor{}).options())
	for params, want := range map[string]string{`{"protocolVersion":5}`: malformedParams, `null`: missingParams} {
		say(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":` + params + `}`)
		if got := hear(); !strings.Contains(got, `"code":-32602`) || !strings.Contains(got, want) {
			t.Errorf("over stdio, %s: %s", params, got)
		}
	}
}

func TestAnUnknownNotificationIsAcceptedAndHasNoEffect(t *testing.T) {
	const unknown = `{"jsonrpc":"2.0","method":"notifications/of/tomorrow","params":{"x":1}}`
	r, ran := counting()
	w := serveWeb(t, r.options(), webOptions())
	c := as("a")
	session := w.begin(c)
	for what, header := range map[string][]string{"with a session": {sessionHeader, session}, "without one": {versionHeader, firstStateless}} {
		if got := w.send(c, "POST", unknown, header...); got.status != 202 || got.body != "" {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
	if got := w.send(c, "POST", unknown); got.status != 400 {
		t.Errorf("without a session that it needs: %d %s", got.status, got.body)
	}
	old := []string{sessionHeader, session, versionHeader, "2025-03-26"}
	if got := w.send(c, "POST", "["+unknown+","+callBody(1, "execute_command", echo)+"]", old...); got.status != 200 || *ran != 1 {
		t.Errorf("in a batch: %d %s, %d have run", got.status, got.body, *ran)
	}
	if got := w.send(c, "POST", "["+unknown+"]", old...); got.status != 202 {
		t.Errorf("alone in a batch: %d %s", got.status, got.body)
	}
	p := newPeer(t)
	p.say(unknown, fmt.Sprintf(ping, 3))
	if req := p.next(); req.ID.Raw() != int64(3) {
		t.Errorf("over stdio: %v", req)
	}
}

func TestTheRevisionsAreThoseOfTheLibrary(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	for _, version := range revisions[1:] {
		got := w.send(as("a"), "POST", fmt.Sprintf(initialize, version))
		if got.status != 200 || !strings.Contains(got.body, `"protocolVersion":"`+version+`"`) {
			t.Errorf("%s: %d %s", version, got.status, got.body)
		}
	}
}
