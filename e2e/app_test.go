//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

// startWithPages starts a server with a client that shows pages (MCP Apps).
func startWithPages(t *testing.T, env []string) *kit.Server {
	t.Helper()
	s := prepare(t, setup{env: env})
	has := &mcp.ClientCapabilities{}
	has.AddExtension("io.modelcontextprotocol/ui", map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}})
	s.Options = &mcp.ClientOptions{Capabilities: has}
	s.Connect()
	return s
}

// shown is what a page is told of a command.
type shown struct {
	State     string `json:"state"`
	CommandID string `json:"commandId"`
	ExitCode  *int   `json:"exitCode"`
	EndedBy   string `json:"endedBy"`
	Text      string `json:"text"`
}

func askedByPage(s *kit.Server, tool string, a kit.Args) shown {
	s.T.Helper()
	var got shown
	r := s.Call(tool, a)
	if err := json.Unmarshal([]byte(r.Text), &got); err != nil || r.IsError {
		s.T.Fatalf("%v\n%s", err, r.Text)
	}
	return got
}

// TestJ13APageShowsAndStopsTheCommandOfItsCall that the call waits for, and one in
// the background, with everything that they have started; the record says so.
func TestJ13APageShowsAndStopsTheCommandOfItsCall(t *testing.T) {
	t.Parallel()
	s := startWithPages(t, append(kit.Sandboxed(kit.Namespaces), "ALLOWED_COMMANDS=sh,sleep"))
	for _, inBackground := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the background: %v", inBackground), func(t *testing.T) {
			s := s.On(t)
			mark := kit.NewMark(t)
			a := kit.Args{"file": "sh", "args": mark.InEnvironment("sleep 100 & sleep 100 & echo $((6*7)) lines; wait"), "timeout_ms": 100_000}
			if inBackground {
				a["background"] = true
			}
			answer := make(chan kit.Reply, 1)
			go func() { answer <- s.Call("execute_process", a) }()
			asks := kit.Args{"wait_ms": 5000}
			if inBackground {
				r := <-answer
				asks["command_id"] = r.Result.Meta["tipstaff/commandId"]
			} else {
				raw, err := json.Marshal(a)
				if err != nil {
					t.Fatal(err)
				}
				asks["arguments"] = string(raw)
			}
			var seen shown
			kit.Eventually(t, "the page sees what the command prints", func() bool {
				seen = askedByPage(s, "watch_command", asks)
				return strings.Contains(seen.Text, "42 lines\n")
			}, func() string { return fmt.Sprintf("%+v", seen) })
			mark.WantHolders(t, 3)
			stopped := askedByPage(s, "stop_watched_command", kit.Args{"command_id": seen.CommandID})
			kit.Eventually(t, "it is stopped", func() bool { // the call waits two seconds, which a busy machine may need for itself
				if stopped.State != "stopped" {
					stopped = askedByPage(s, "watch_command", kit.Args{"command_id": seen.CommandID, "wait_ms": 1000})
				}
				return stopped.State == "stopped"
			}, func() string { return fmt.Sprintf("%+v", stopped) })
			mark.WantNone(t, 0)
			if !inBackground {
				if r := <-answer; !r.IsError || !strings.Contains(r.Text, "Stopped by a person") || !strings.Contains(r.Text, "42 lines") {
					t.Errorf("the call is answered %s", r.Text)
				}
			} else if w := about(s, "read_output", seen.CommandID, nil); w.State != "stopped" || w.EndedBy != "a person has stopped it in the client's window" {
				t.Errorf("the model is told %+v", w)
			}
			if why := stopRecord(s, seen.CommandID); why["tool"] != "stop_watched_command" || why["signal"] != "SIGTERM" {
				t.Errorf("the record says %v", why)
			}
		})
	}
}

// stopRecord is what the record says of who stopped a command.
func stopRecord(s *kit.Server, id string) map[string]any {
	for _, r := range s.Records() {
		if trace, _ := r["trace"].(map[string]any); trace["command_id"] == id && r["event"] == "command.stopped" {
			what, _ := r["what"].(map[string]any)
			return what
		}
	}
	return nil
}

func TestJ13OtherClientsAreToldNothingOfPages(t *testing.T) {
	s := start(t, setup{env: append(kit.Sandboxed(kit.Namespaces), "ALLOWED_COMMANDS=echo")})
	list, err := s.Session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Tools {
		if m.Meta != nil || strings.Contains(m.Name, "watch") {
			t.Errorf("%s has %v", m.Name, m.Meta)
		}
	}
	if _, err := s.Session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://tipstaff/command"}); err == nil {
		t.Error("the page is there")
	}
	if r := s.Command("echo hi"); r.Result.Meta["tipstaff/commandId"] != nil || r.Ran().Stdout != "hi\n" {
		t.Errorf("it is told %v %s", r.Result.Meta, r.Text)
	}
}
