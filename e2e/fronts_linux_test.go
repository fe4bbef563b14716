//go:build linux && !race

package e2e

import (
	"context"
	"encoding/json"
	"html"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/e2e/kit"
	"tipstaff/internal/policy/approval"
)

// TestEveryFrontDrawsTheWholeQuestion: the form of the client, the client's window, the
// console and the command line show the same rows, and in them all that the command would
// get. The terminal of tipstaff run has the text of the form, too.
func TestEveryFrontDrawsTheWholeQuestion(t *testing.T) {
	t.Parallel()
	forms := make(chan string, 1)
	release := make(chan struct{}, 1)
	has := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}}
	has.AddExtension("io.modelcontextprotocol/ui", map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}})
	s := prepare(t, setup{files: map[string]string{"in": "echo from-a-file\n"}, env: []string{"ENABLE_TERMINAL_ACCESS=true"}}.withPolicy(t, strings.ReplaceAll(asksAboutMuch, "{rule: ", "{approver: app, rule: ")))
	s.Options = &mcp.ClientOptions{Capabilities: has, ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		forms <- r.Params.Message
		select {
		case <-release:
		case <-ctx.Done():
		}
		return &mcp.ElicitResult{Action: "decline"}, nil
	}}
	s.Version = "2025-11-25"
	s.Connect()
	p := openConsole(t, s.State)
	for _, c := range []struct {
		tool string
		args kit.Args
		want []string
	}{
		{"execute_process", kit.Args{"file": "sh", "args": []string{"-s", needsAPerson, "a b"}, "input": "echo typed\n\x1b[2J", "timeout_ms": 4321},
			[]string{"Command: sh -s needs-a-person 'a b'", "Input:", "echo typed", `\x1b[2J`, "Time limit: 4.321s", "Program:", "Directory: " + s.Workspace, "Counts for:"}},
		{"execute_process", kit.Args{"file": "sh", "args": []string{"-s", needsAPerson}, "background": true, "tty": true}, []string{"Background:", "Terminal: it gets one"}},
		{"execute_shell", kit.Args{"script": "sh -s needs-a-person <<E > out\necho given\nE\n"}, []string{"In a script: line 1, column 1", "Statement: sh -s needs-a-person <<E > out", "Input: a here-document", "echo given"}},
		{"execute_shell", kit.Args{"script": "echo echo piped | sh -s needs-a-person"}, []string{"Input: the pipeline", "echo echo piped | sh"}},
		{"execute_shell", kit.Args{"script": "sh -s needs-a-person < in"}, []string{"Input: a file: " + s.Workspace + "/in, with the SHA-256 "}},
	} {
		answer := make(chan kit.Reply, 1)
		go func() { answer <- s.Call(c.tool, c.args) }()
		form := <-forms
		var list []struct{ Shown []approval.Row }
		out, _ := host(t, s, "approvals", "--json")
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		text, _ := host(t, s, "approvals")
		raw, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		page := p.get("/approvals")
		fronts := map[string]string{"the form": form, "the command line": text, "the console": html.UnescapeString(page)}
		if c.args["background"] == nil {
			r := s.Call("watch_command", kit.Args{"arguments": string(raw), "wait_ms": 5000})
			var told pageAsked
			if err := json.Unmarshal([]byte(r.Text), &told); err != nil || told.Question == nil {
				t.Fatalf("the window is told nothing: %v %s", err, r.Text)
			}
			fronts["the window"] = approval.WriteRows(told.Question.Shown)
		}
		rows := approval.WriteRows(list[0].Shown)
		for _, want := range c.want {
			if !strings.Contains(strings.Join(strings.Fields(rows), " "), want) {
				t.Errorf("%v is shown without %q:\n%s", c.args, want, rows)
			}
		}
		for front, shows := range fronts {
			for _, row := range list[0].Shown {
				parts := strings.Split(row.Value, "\n")
				if front == "the console" && len(row.Words) > 0 {
					parts = row.Words
				}
				for _, part := range append(parts, row.Label) {
					if !strings.Contains(shows, part) {
						t.Errorf("%s shows %q without %q:\n%s", front, row.Label, part, shows)
					}
				}
			}
		}
		release <- struct{}{}
		if r := <-answer; !strings.Contains(r.Text, "APPROVAL_DENIED") && !strings.Contains(r.Text, "said no") {
			t.Errorf("%s", r.Text)
		}
	}
}
