//go:build unix && !race

package e2e

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
)

// progressHeard collects what a client is told, and when.
type progressHeard struct {
	mu    sync.Mutex
	notes []mcp.ProgressNotificationParams
	at    []time.Time
}

func (p *progressHeard) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.notes, p.at = append(p.notes, *r.Params), append(p.at, time.Now())
	}}
}

func (p *progressHeard) messages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, n := range p.notes {
		out = append(out, n.Message)
	}
	return out
}

// TestACallThatLastsTellsHowItGoesOn, to a client that asks for it, in both eras.
func TestACallThatLastsTellsHowItGoesOn(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			heard := &progressHeard{}
			s := prepare(t, setup{env: []string{"MY_API_KEY=correct-horse-battery-staple-9"}})
			s.Version, s.Options = version, heard.options()
			s.Connect()
			call := func(token any, script string) {
				t.Helper()
				params := &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{"file": "sh", "args": []string{"-c", script}}}
				if token != nil {
					params.SetProgressToken(token)
				}
				res, err := s.Session.CallTool(t.Context(), params)
				if err != nil || res.IsError {
					t.Fatalf("%v %+v", err, res)
				}
			}
			began := time.Now()
			call("token-1", `printf 'the key is correct-horse-battery-staple-9 \033[2J\nunfinished'; sleep 1.5`)
			answered := time.Now()
			call(nil, "sleep 0.8")
			call("token-2", "true")
			got := heard.messages()
			if len(got) != 1 {
				t.Fatalf("it was told %q", got)
			}
			if heard.notes[0].ProgressToken != "token-1" || heard.at[0].Sub(began) > time.Second || heard.at[0].After(answered) {
				t.Errorf("%+v after %v", heard.notes[0], heard.at[0].Sub(began))
			}
			if want := `running for 0 s: the key is <redacted:env:MY_API_KEY> \x1b[2J`; got[0] != want {
				t.Errorf("told %q, want %q", got[0], want)
			}
		})
	}
}

// TestACallThatWaitsSaysForWhat: for its turn in the session, and for a person.
func TestACallThatWaitsSaysForWhat(t *testing.T) {
	heard := &progressHeard{}
	s := startAsking(t, "2025-11-25", &mcp.ClientOptions{
		ProgressNotificationHandler: heard.options().ProgressNotificationHandler,
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			kit.Eventually(t, "progress while a person is asked", func() bool { return len(heard.messages()) > 0 })
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	}, setup{})
	params := &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{"file": "echo", "args": []string{needsAPerson}}}
	params.SetProgressToken(7)
	if res, err := s.Session.CallTool(t.Context(), params); err != nil || !res.IsError {
		t.Fatalf("%v %+v", err, res)
	}
	if got := heard.messages(); !strings.HasPrefix(got[0], "waiting for a person to allow it (apr_") {
		t.Errorf("told %q", got)
	}
	id := s.NewSession()
	var both sync.WaitGroup
	both.Go(func() { s.InSession(id, "sleep", []string{"1.2"}) })
	kit.Eventually(t, "a running command", func() bool {
		return s.Call("terminal_get_status", kit.Args{"sessionId": id}).JSON().Session.State == "running"
	})
	second := &mcp.CallToolParams{Name: "terminal_execute_command", Arguments: kit.Args{"sessionId": id, "command": "true"}}
	second.SetProgressToken("second")
	before := len(heard.messages())
	if _, err := s.Session.CallTool(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	both.Wait()
	if got := heard.messages()[before:]; len(got) != 1 || got[0] != "waiting for its turn for 0 s" {
		t.Errorf("told %q", got)
	}
}
