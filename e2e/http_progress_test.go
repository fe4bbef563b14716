//go:build unix && !race

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestOverHTTPACallThatLastsTellsHowItGoesOn(t *testing.T) {
	testcmdtest.Long(t)
	eachEra(t, func(t *testing.T, version string) {
		t.Parallel()
		heard := &progressHeard{}
		w := serveHTTP(t, setup{env: []string{"MY_API_KEY=correct-horse-battery-staple-9"}})
		alice := w.asWith(alices, version, heard.options())
		script := "echo the key is correct-horse-battery-staple-9; " + untilFile("first") + "; echo nearly there; " + untilFile("second")
		params := &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{"file": "sh", "args": []string{"-c", script}}}
		params.SetProgressToken("token-1")
		var both sync.WaitGroup
		both.Go(func() {
			if res, err := alice.Session.CallTool(t.Context(), params); err != nil || res.IsError {
				t.Errorf("%v %+v", err, res)
			}
		})
		heard.waitFor(t, `^running(: sh .*; last line| for \d+ s): the key is <redacted:env:MY_API_KEY>$`)
		makeFile(t, w.Workspace, "first")
		heard.waitFor(t, `^running(: sh .*; last line| for \d+ s): nearly there$`)
		makeFile(t, w.Workspace, "second")
		both.Wait()
		// Nothing more may be sent for it; another call shows that the
		// connection works.
		before := len(heard.messages())
		if r := alice.Command("echo on"); r.IsError {
			t.Errorf("%s", r.Text)
		}
		if got := heard.messages(); len(got) != before {
			t.Errorf("after the answer it was told %q", got)
		}
		for i, n := range heard.notes {
			if n.ProgressToken != "token-1" || i > 0 && n.Progress <= heard.notes[i-1].Progress {
				t.Errorf("%+v", n)
			}
		}
	})
}

// lasting is a hand-written call of sh with arguments, which asks for progress.
func lasting(t *testing.T, argv []string, meta string) string {
	t.Helper()
	args, err := json.Marshal(kit.Args{"file": "sh", "args": argv})
	if err != nil {
		t.Fatal(err)
	}
	return `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"execute_process","arguments":` + string(args) + `,"_meta":{"progressToken":"p"` + meta + `}}}`
}

const modernMeta = `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`

func TestOverHTTPWhoHangsUpCancelsAStatelessCall(t *testing.T) {
	t.Parallel()
	w := serveHTTP(t, setup{})
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	mark := kit.NewMark(t)
	body := lasting(t, mark.InEnvironment("sleep 60"), modernMeta)
	resp := w.open(ctx, "POST", alices, body, "Mcp-Protocol-Version", stateless, "Mcp-Method", "tools/call", "Mcp-Name", "execute_process")
	if m := nextMessage(t, resp); m.Method != "notifications/progress" {
		t.Fatalf("%+v", m)
	}
	kit.Eventually(t, "a running command", func() bool { return len(mark.Holders(t)) > 0 })
	hangUp()
	_ = resp.Body.Close()
	mark.WantNone(t, heldUp)
	kit.Eventually(t, "the end on the record", func() bool {
		for _, r := range w.Records() {
			if result, _ := r["result"].(map[string]any); r["event"] == "command.end" && result["cause"] == "cancelled" {
				return true
			}
		}
		return false
	})
}

func TestOverHTTPALegacyClientComesBackForItsAnswer(t *testing.T) {
	t.Parallel()
	w := serveHTTP(t, setup{})
	begun, _ := w.fetch("POST", "/mcp", alices, hello)
	headers := []string{"Mcp-Session-Id", begun.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", stateful}
	w.fetch("POST", "/mcp", alices, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	first := w.open(ctx, "POST", alices, lasting(t, []string{"-c", "echo line; " + untilFile("told") + "; echo last"}, ""), headers...)
	told := nextMessage(t, first)
	if told.Method != "notifications/progress" || told.event == "" {
		t.Fatalf("%+v", told)
	}
	hangUp()
	_ = first.Body.Close()
	if resp, body := w.fetch("GET", "/mcp", bobs, "", append(headers, "Last-Event-ID", told.event)...); resp.StatusCode != http.StatusNotFound {
		t.Errorf("another principal comes for her answer: %d %s", resp.StatusCode, body)
	}
	makeFile(t, w.Workspace, "told")
	again := w.comeBack(append(headers, "Last-Event-ID", told.event)...)
	defer func() { _ = again.Body.Close() }()
	if answer := nextMessage(t, again); string(answer.ID) != "5" || !strings.Contains(string(answer.Result), "exit_code: 0") || !strings.Contains(string(answer.Result), "last") {
		t.Errorf("%+v", answer)
	}
}
