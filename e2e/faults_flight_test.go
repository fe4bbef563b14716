//go:build linux && !race

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// places is how many calls of one caller are carried out at once. A few of their
// commands run here, the others wait for TIPSTAFF_MAX_CONCURRENT.
const places = 256

var commandName = regexp.MustCompile(`cmd_[A-Z0-9]+`)

// TestT11ACallerWhoseCallsAreAllInFlightCanStillEndThem: what stops, cancels and reads
// waits for no call that runs something, and the server ends.
func TestT11ACallerWhoseCallsAreAllInFlightCanStillEndThem(t *testing.T) {
	t.Parallel()
	s, m := prepare(t, setup{env: append(kit.Sandboxed(kit.None), "TIPSTAFF_MAX_CONCURRENT=4")}), kit.NewMark(t)
	r := kit.StartRaw(t, s.Cmd)
	r.Initialize()
	id := r.Call(1, "terminal_create_session", kit.Args{"taskId": "t", "agentId": "a", "environment": kit.Args{kit.MarkName: m}}).JSON().SessionID
	background := commandName.FindString(r.Call(2, "execute_process", kit.Args{"file": "sh", "args": m.InEnvironment("echo begun; exec sleep 300"), "background": true}).Text())
	r.Send(r.Line(3, "terminal_execute_command", kit.Args{"sessionId": id, "command": "sleep", "args": []string{"300"}}))
	m.WantHolders(t, 2)
	r.Send(r.Line(4, "execute_process", kit.Args{"file": "sh", "args": m.InEnvironment("exec sleep 300")}))
	m.WantHolders(t, 3)
	var many []string
	for i := range places + 100 {
		many = append(many, r.Line(100+i, "execute_process", kit.Args{"file": "sleep", "args": []string{"300"}}))
	}
	r.Send(strings.Join(many, "\n"))
	answer := func(id int) string {
		t.Helper()
		for {
			if got := r.Receive(); got.ID == id {
				return got.Text()
			} else if got.ID != 3 {
				t.Errorf("answered is %d: %s", got.ID, got.Text())
			}
		}
	}
	r.Send(r.Line(10, "read_output", kit.Args{"command_id": background, "match": "begun", "offset": 0, "wait_ms": 60_000}))
	if got := answer(10); !strings.Contains(got, "begun") {
		t.Errorf("read_output: %s", got)
	}
	r.Send(r.Line(11, "stop_command", kit.Args{"command_id": background}))
	if got := answer(11); !strings.Contains(got, `ended_by: "stop_command"`) {
		t.Errorf("stop_command: %s", got)
	}
	m.WantHolders(t, 2)
	r.Send(r.Line(12, "terminal_close_session", kit.Args{"sessionId": id}))
	if got := answer(12); !strings.Contains(got, `"success":true`) {
		t.Errorf("terminal_close_session: %s", got)
	}
	m.WantHolders(t, 1)
	r.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`)
	m.WantNone(t, heldUp)
	_ = r.In.Close()
	wantEnded(t, s, 0)
}

// TestT11OverHTTPACallerWhoseCallsAreAllInFlightCanStillEndThem: the same where each call
// is a request, and one more is refused with 429.
func TestT11OverHTTPACallerWhoseCallsAreAllInFlightCanStillEndThem(t *testing.T) {
	t.Parallel()
	m := kit.NewMark(t)
	w := serveSocket(t, &kit.Buffer{}, "TIPSTAFF_MAX_CONCURRENT=4")
	background := commandName.FindString(w.modern("", kit.Args{"file": "sh", "args": m.InEnvironment("exec sleep 300"), "background": true}, nil).text())
	m.WantHolders(t, 1)
	for range places {
		go func() {
			for { // again if the question below had the last place
				resp, err := w.client("").Do(w.request(kit.Args{"file": "sleep", "args": []string{"300"}, "timeout_ms": 300_000}))
				if err != nil {
					return // the server has ended
				}
				answer, _ := io.ReadAll(resp.Body) // its head comes with the first sign of life
				_ = resp.Body.Close()
				// Where another takes the last place meanwhile, the answer itself refuses.
				if resp.StatusCode != http.StatusTooManyRequests && !strings.Contains(string(answer), "no more are taken at once") {
					return
				}
			}
		}()
	}
	kit.Eventually(t, "all places are taken", func() bool {
		resp, err := w.client("").Do(w.request(kit.Args{"file": "no-such-program"}))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != ""
	})
	for _, tool := range []string{"read_output", "stop_command"} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"command_id":%q},"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, background, stateless)
		resp, got := w.fetch("POST", "/mcp", "", body, "Mcp-Protocol-Version", stateless, "Mcp-Method", "tools/call", "Mcp-Name", tool)
		if resp.StatusCode != http.StatusOK || !strings.Contains(got, background) {
			t.Errorf("%s: %d %s", tool, resp.StatusCode, got)
		}
	}
	m.WantNone(t, heldUp)
	ends[0].tell(&kit.Raw{Cmd: w.Cmd})
	wantEnded(t, w.Server, 0)
}
