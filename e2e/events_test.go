//go:build unix

package e2e

//lint:file-ignore SA1019 Deprecated by the protocol, and what clients have.

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

// event is what a client is told.
type event struct {
	Name      string
	Session   string
	CommandID string `json:"command_id"`
	Code      string
	ExitCode  *int     `json:"exit_code"`
	Duration  *float64 `json:"duration_ms"`
	level     string
	logger    string
}

// TestB14AClientThatListensIsToldOfItsEvents, which are the same as in the
// records.
func TestB14AClientThatListensIsToldOfItsEvents(t *testing.T) {
	t.Parallel()
	s := prepare(t, setup{})
	var mu sync.Mutex
	var events []event
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			var e event
			data, err := json.Marshal(r.Params.Data)
			if err == nil {
				err = json.Unmarshal(data, &e)
			}
			if err != nil {
				t.Error(err)
			}
			e.level, e.logger = string(r.Params.Level), r.Params.Logger
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
		},
	})
	s.Cmd.WaitDelay = kit.Farewell
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: s.Cmd, TerminateDuration: kit.Farewell}, &mcp.ClientSessionOptions{})
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Stderr)
	}
	defer func() { _ = session.Close() }()
	s.Session = session
	s.Command("echo before").Ran() // the client has not subscribed yet
	if session.InitializeResult().Capabilities.Logging == nil {
		t.Fatal("logging is not declared")
	}
	if err := session.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Fatal(err)
	}
	id := s.NewSession()
	s.InSession(id, "sh", []string{"-c", "exit 3"})
	s.InSession(id, "testcmd", []string{"ignore"}, kit.Args{"timeout": 100})
	s.InSession(id, "rm", nil)
	s.Call("terminal_close_session", kit.Args{"sessionId": id})
	want := []struct {
		name, level, code string
		exit              int
	}{
		{"terminal:session:created", "info", "", -1},
		{"terminal:command:executed", "info", "", 3},
		{"terminal:command:failed", "notice", "", 124},
		{"terminal:security:violation", "warning", "COMMAND_NOT_ALLOWED", -1},
		{"terminal:session:closed", "info", "", -1},
	}
	told := func() []event {
		mu.Lock()
		defer mu.Unlock()
		return append([]event(nil), events...)
	}
	kit.Eventually(t, "all events are told", func() bool { return len(told()) >= len(want) }, s.Stderr.String)
	got := told()
	if len(got) != len(want) {
		t.Fatalf("told of %+v", got)
	}
	for i, w := range want {
		e := got[i]
		if e.Name != w.name || e.level != w.level || e.Code != w.code || e.logger != "tipstaff" || e.Session != id {
			t.Errorf("event %d is %+v, want %+v", i, e, w)
		}
		if w.exit >= 0 && (e.ExitCode == nil || *e.ExitCode != w.exit || e.Duration == nil || e.CommandID == "") {
			t.Errorf("event %d is %+v, want the exit code %d", i, e, w.exit)
		}
	}
}
