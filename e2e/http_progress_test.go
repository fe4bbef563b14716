//go:build unix && !race

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

func TestOverHTTPACallThatLastsTellsHowItGoesOn(t *testing.T) {
	eachEra(t, func(t *testing.T, version string) {
		t.Parallel()
		heard := &progressHeard{}
		w := serveHTTP(t, setup{env: []string{"MY_API_KEY=correct-horse-battery-staple-9"}})
		alice := w.asWith(alices, version, heard.options())
		params := &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{"file": "sh", "args": []string{"-c", "echo the key is correct-horse-battery-staple-9; sleep 9.9; echo nearly there; sleep 1.5"}}}
		params.SetProgressToken("token-1")
		began := time.Now()
		res, err := alice.Session.CallTool(t.Context(), params)
		answered := time.Now()
		if err != nil || res.IsError {
			t.Fatalf("%v %+v", err, res)
		}
		// Nothing more may come for it; another call shows that the way is open.
		if r := alice.Command("echo on"); r.IsError {
			t.Errorf("%s", r.Text)
		}
		got := heard.messages()
		if len(got) != 2 {
			t.Fatalf("it was told %q", got)
		}
		if first := heard.at[0].Sub(began); first > time.Second || got[0] != "running for 0 s: the key is <redacted:env:MY_API_KEY>" {
			t.Errorf("first after %v: %q", first, got[0])
		}
		if !strings.HasPrefix(got[1], "running for 10 s: nearly there") {
			t.Errorf("then %q", got[1])
		}
		for i, n := range heard.notes {
			if n.ProgressToken != "token-1" || heard.at[i].After(answered) || i > 0 && n.Progress <= heard.notes[i-1].Progress {
				t.Errorf("%+v at %v, answered at %v", n, heard.at[i], answered)
			}
		}
	})
}

// lasting is a call by hand of sh with arguments, which asks for progress.
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
	w := serveHTTP(t, setup{})
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	mark := kit.NewMark(t)
	body := lasting(t, mark.InEnvironment("sleep 60"), modernMeta)
	resp := w.open(ctx, "POST", alices, body, "Mcp-Protocol-Version", stateless, "Mcp-Method", "tools/call", "Mcp-Name", "execute_process")
	if m := nextMessage(t, resp); m.Method != "notifications/progress" {
		t.Fatalf("%+v", m)
	}
	if len(mark.Holders(t)) == 0 {
		t.Fatal("the command does not run")
	}
	hangUp()
	_ = resp.Body.Close()
	mark.WantNone(t, 5*time.Second)
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
	w := serveHTTP(t, setup{})
	begun, _ := w.fetch("POST", "/mcp", alices, hello)
	headers := []string{"Mcp-Session-Id", begun.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", stateful}
	w.fetch("POST", "/mcp", alices, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	first := w.open(ctx, "POST", alices, lasting(t, []string{"-c", "echo line; sleep 2; echo last"}, ""), headers...)
	told := nextMessage(t, first)
	if told.Method != "notifications/progress" || told.event == "" {
		t.Fatalf("%+v", told)
	}
	hangUp()
	_ = first.Body.Close()
	if resp, body := w.fetch("GET", "/mcp", bobs, "", append(headers, "Last-Event-ID", told.event)...); resp.StatusCode != http.StatusNotFound {
		t.Errorf("another principal comes for her answer: %d %s", resp.StatusCode, body)
	}
	again := w.comeBack(append(headers, "Last-Event-ID", told.event)...)
	defer func() { _ = again.Body.Close() }()
	if answer := nextMessage(t, again); string(answer.ID) != "5" || !strings.Contains(string(answer.Result), "exit_code: 0") || !strings.Contains(string(answer.Result), "last") {
		t.Errorf("%+v", answer)
	}
}
