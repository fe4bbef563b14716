package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"tipstaff"
	"tipstaff/internal/audit/events"
)

func TestHardening6StreamsPassProxiesAndSayThatTheyLive(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		r, begun, _ := blocking()
		h := webOptions()
		h.KeepAlive = 20 * time.Millisecond
		w := serveWeb(t, r.options(), h)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		resp := w.call(ctx, modern)
		defer func() { _ = resp.Body.Close() }()
		within(t, "the command begins", begun)
		if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%v", resp.Header)
		}
		lines := bufio.NewScanner(resp.Body)
		for alive := 0; alive < 3; {
			if !lines.Scan() {
				t.Fatalf("the stream ended: %v", lines.Err())
			}
			if lines.Text() == ": alive" {
				alive++
			}
		}
	})
}

// call makes a call by hand, in one of the eras.
func (w *web) call(ctx context.Context, modern bool) *http.Response {
	w.t.Helper()
	c := as("alice")
	if !modern {
		return w.open(ctx, c, "POST", callBody(7, "execute_command", echo), sessionHeader, w.begin(c), versionHeader, lastStateful)
	}
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute_command","arguments":` + echo + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	return w.open(ctx, c, "POST", body, versionHeader, firstStateless, "Mcp-Method", "tools/call", "Mcp-Name", "execute_command")
}

func TestHardening7WhoHangsUpCancelsAStatelessCall(t *testing.T) {
	r, begun, ended := blocking()
	h := webOptions()
	h.KeepAlive = 20 * time.Millisecond // makes the library send the header
	w := serveWeb(t, r.options(), h)
	ctx, cancel := context.WithCancel(t.Context())
	resp := w.call(ctx, true)
	within(t, "the command begins", begun)
	cancel()
	_ = resp.Body.Close()
	within(t, "the command is ended", ended)
}

func TestHardening7WhoHangsUpMayComeBackToAStatefulCall(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	r := &fakeMonitor{execute: func(ctx context.Context, _ tipstaff.Request) (tipstaff.Result, error) {
		close(begun)
		select {
		case <-finish:
			return exited(0, "the rest", ""), nil
		case <-ctx.Done():
			return tipstaff.Result{}, context.Cause(ctx)
		}
	}}
	w := serveWeb(t, r.options(), webOptions())
	c := as("alice")
	session := w.begin(c)
	ctx, cancel := context.WithCancel(t.Context())
	resp := w.open(ctx, c, "POST", callBody(7, "execute_command", echo), sessionHeader, session, versionHeader, lastStateful)
	within(t, "the command begins", begun)
	id := ""
	for lines := bufio.NewScanner(resp.Body); id == "" && lines.Scan(); {
		id, _ = strings.CutPrefix(lines.Text(), "id: ")
		if id == lines.Text() {
			id = ""
		}
	}
	cancel()
	_ = resp.Body.Close()
	close(finish)
	got := w.send(c, "GET", "", sessionHeader, session, versionHeader, lastStateful, "Last-Event-ID", id)
	if got.status != http.StatusOK || !strings.Contains(got.body, "the rest") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestHardening7DeletingASessionEndsItsCallsAtOnce(t *testing.T) {
	r, begun, ended := blocking()
	w := serveWeb(t, r.options(), webOptions())
	c := as("alice")
	session := w.begin(c)
	resp := w.open(t.Context(), c, "POST", callBody(7, "execute_command", echo), sessionHeader, session, versionHeader, lastStateful)
	defer func() { _ = resp.Body.Close() }()
	within(t, "the command begins", begun)
	if got := w.send(c, "DELETE", "", sessionHeader, session); got.status != http.StatusNoContent {
		t.Errorf("%d %s", got.status, got.body)
	}
	if cause := within(t, "the command is ended", ended); !errors.Is(cause, errDeleted) {
		t.Errorf("because %v", cause)
	}
	if got := w.send(c, "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, sessionHeader, session); got.status != http.StatusNotFound {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
	if n := len(w.handler.sessions.byID); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestAnIdleSessionEndsWithItsCalls(t *testing.T) {
	r, begun, ended := blocking()
	h := webOptions()
	h.Idle = 40 * time.Millisecond
	w := serveWeb(t, r.options(), h)
	c := as("alice")
	ctx, cancel := context.WithCancel(t.Context())
	var resp *http.Response
	for range 100 { // on a busy machine a session may end before its first call
		if resp != nil && resp.StatusCode != http.StatusNotFound {
			break
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
		resp = w.open(ctx, c, "POST", callBody(7, "execute_command", echo), sessionHeader, w.begin(c), versionHeader, lastStateful)
	}
	within(t, "the command begins", begun)
	cancel() // the client is gone for good
	_ = resp.Body.Close()
	if cause := within(t, "the command is ended", ended); !errors.Is(cause, errExpired) {
		t.Errorf("because %v", cause)
	}
}

func TestHardening8AnswersAreNobodyElsesToKeep(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
		res, err := w.dial(as("a"), modern).ListTools(t.Context(), nil)
		if err != nil || modern && res.CacheScope != "private" {
			t.Errorf("%v %v", res, err)
		}
	})
}

func TestHardening9ThePrincipalIsThatOfEachRequest(t *testing.T) {
	// The handler's context comes from the first request of the session; the same
	// principal may have lost a scope since.
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	session := w.begin(as("alice"))
	body := callBody(1, "execute_command", echo)
	if got := w.send(as("alice"), "POST", body, sessionHeader, session); !strings.Contains(got.body, "exit_code: 0") {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := w.send(as("alice", "X-Scope", "read"), "POST", body, sessionHeader, session); !strings.Contains(got.body, "SCOPE_MISSING") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestHardening1APanicOverHTTPIsAnErrorOfItsCallAlone(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		var log bytes.Buffer
		o := (&fakeMonitor{execute: func(context.Context, tipstaff.Request) (tipstaff.Result, error) { panic("secret detail") }}).options()
		o.Log = slog.New(slog.NewJSONHandler(&log, nil))
		cs := serveWeb(t, o, webOptions()).dial(as("a"), modern)
		_, err := execute(t.Context(), cs)
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInternalError || strings.Contains(wire.Message, "secret detail") {
			t.Errorf("the caller was told %v", err)
		}
		if _, err := cs.ListTools(t.Context(), nil); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestHardening3InitializeOverHTTPIsClamped(t *testing.T) {
	w := serveWeb(t, (&fakeMonitor{}).options(), webOptions())
	r := w.send(as("a"), "POST", fmt.Sprintf(initialize, "2026-07-28"))
	if !strings.Contains(r.body, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("%d %s", r.status, r.body)
	}
	got := w.send(as("a"), "POST", callBody(1, "execute_command", echo), sessionHeader, r.header.Get(sessionHeader), versionHeader, lastStateful)
	if !strings.Contains(got.body, "exit_code: 0") {
		t.Errorf("the session is poisoned: %d %s", got.status, got.body)
	}
}

func TestHardening4ACancelledCallIsNotAnsweredOverHTTP(t *testing.T) {
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	for what, body := range map[string]string{"alone": cancel, "in a batch": "[" + cancel + "]"} {
		t.Run(what, func(t *testing.T) { cancelsOverHTTP(t, body) })
	}
}

func cancelsOverHTTP(t *testing.T, cancel string) {
	r, begun, ended := blocking()
	w := serveWeb(t, r.options(), webOptions())
	c := as("alice")
	session := w.begin(c)
	resp := w.open(t.Context(), c, "POST", callBody(7, "execute_command", echo), sessionHeader, session, versionHeader, lastStateful)
	defer func() { _ = resp.Body.Close() }()
	within(t, "the command begins", begun)
	got := w.send(c, "POST", cancel, sessionHeader, session, versionHeader, "2025-03-26")
	if got.status != http.StatusAccepted {
		t.Fatalf("%d %s", got.status, got.body)
	}
	within(t, "the command is ended", ended)
	body, err := io.ReadAll(resp.Body)
	if err != nil || strings.Contains(string(body), `"jsonrpc"`) {
		t.Errorf("heard %q, %v", body, err)
	}
	if n := len(w.handler.sessions.byID[session].web.streams); n != 0 {
		t.Errorf("%d streams are remembered", n)
	}
}

func TestHardening5EveryErrorOverHTTPHasACode(t *testing.T) {
	o := (&fakeMonitor{}).options()
	o.Events = &events.Bus{}
	w := serveWeb(t, o, webOptions())
	c := as("a")
	session := w.begin(c)
	for name, body := range map[string]string{
		"initialize twice":        fmt.Sprintf(initialize, lastStateful),
		"params of another form":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`,
		"arguments without tool":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`,
		"a tool that is not here": callBody(1, "rm", "{}"),
		"a level that is none":    `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`,
	} {
		got := w.send(c, "POST", body, sessionHeader, session)
		if !strings.Contains(got.body, `"error":{"code":-32`) || strings.Contains(got.body, "unmarshal") || strings.Contains(got.body, "mcp.") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}
