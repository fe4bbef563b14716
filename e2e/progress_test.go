//go:build unix && !race

package e2e

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// progressHeard collects the notifications of a client.
type progressHeard struct {
	mu    sync.Mutex
	notes []mcp.ProgressNotificationParams
}

func (p *progressHeard) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.notes = append(p.notes, *r.Params)
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

// waitFor waits for a notification that matches.
func (p *progressHeard) waitFor(t *testing.T, pattern string) {
	t.Helper()
	told := func() bool { return slices.ContainsFunc(p.messages(), regexp.MustCompile(pattern).MatchString) }
	kit.Eventually(t, "progress like "+pattern, told, func() string { return strings.Join(p.messages(), "\n") })
}

// TestACallThatLastsTellsHowItGoesOn, to a client that asks for it, in both
// eras. The command ends only after the client was notified.
func TestACallThatLastsTellsHowItGoesOn(t *testing.T) {
	testcmdtest.Long(t)
	t.Parallel()
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			heard := &progressHeard{}
			s := prepare(t, setup{env: []string{"MY_API_KEY=correct-horse-battery-staple-9"}})
			s.Version, s.Options = version, heard.options()
			s.Connect()
			call := func(token any, script string) time.Duration {
				t.Helper()
				began := time.Now()
				params := &mcp.CallToolParams{Name: "execute_process", Arguments: kit.Args{"file": "sh", "args": []string{"-c", script}}}
				if token != nil {
					params.SetProgressToken(token)
				}
				res, err := s.Session.CallTool(t.Context(), params)
				if err != nil || res.IsError {
					t.Fatalf("%v %+v", err, res)
				}
				return time.Since(began)
			}
			var both sync.WaitGroup
			both.Go(func() {
				call("token-1", `printf 'the key is correct-horse-battery-staple-9 \033[2J\nunfinished'; `+untilFile("told"))
			})
			heard.waitFor(t, `^running(: sh .*; last line| for \d+ s): the key is <redacted:env:MY_API_KEY> \\x1b\[2J$`)
			makeFile(t, s.Workspace, "told")
			both.Wait()
			before := len(heard.messages())
			call(nil, "sleep 0.8")
			// A call that ends before the first notification is due gets none.
			if took := call("token-2", "true"); took > 400*time.Millisecond {
				t.Logf("the short call took %v: whether it is spoken of is not judged", took)
				before = len(heard.messages())
			}
			if got := heard.messages(); len(got) != before {
				t.Errorf("it was told %q", got)
			}
			if heard.notes[0].ProgressToken != "token-1" {
				t.Errorf("%+v", heard.notes[0])
			}
		})
	}
}

// TestACallThatWaitsSaysForWhat: for its turn in the session, or for a person.
func TestACallThatWaitsSaysForWhat(t *testing.T) {
	t.Parallel()
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
	ctx, cancel := context.WithCancel(t.Context())
	both.Go(func() {
		_, _ = s.Session.CallTool(ctx, &mcp.CallToolParams{
			Name: "terminal_execute_command", Arguments: kit.Args{"sessionId": id, "command": "sleep", "args": []string{"300"}},
		})
	})
	kit.Eventually(t, "a running command", func() bool {
		return s.Call("terminal_get_status", kit.Args{"sessionId": id}).JSON().Session.State == "running"
	})
	second := &mcp.CallToolParams{Name: "terminal_execute_command", Arguments: kit.Args{"sessionId": id, "command": "true"}}
	second.SetProgressToken("second")
	both.Go(func() {
		if _, err := s.Session.CallTool(t.Context(), second); err != nil {
			t.Error(err)
		}
	})
	heard.waitFor(t, `^waiting for its turn(: .+| for \d+ s)$`)
	cancel()
	both.Wait()
}
