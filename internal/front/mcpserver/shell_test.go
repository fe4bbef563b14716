package mcpserver

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
)

// shellServer serves a stub with scripts, and says what it was asked.
func shellServer(t *testing.T, adjust func(*Options)) (*mcp.ClientSession, *[]tipstaff.Request) {
	t.Helper()
	asked := &[]tipstaff.Request{}
	r := &fakeMonitor{}
	r.execute = func(_ context.Context, req tipstaff.Request) (tipstaff.Result, error) {
		*asked = append(*asked, req)
		switch {
		case strings.Contains(req.Line, "|"):
			return tipstaff.Result{}, &tipstaff.Error{Code: tipstaff.InvalidCommandLine, Rule: "command-line/OPERATOR", Msg: "no", Hint: "One call for each."}
		case strings.Contains(req.Line, "'"):
			return tipstaff.Result{}, &tipstaff.Error{Code: tipstaff.InvalidCommandLine, Rule: "command-line/UNBALANCED_QUOTE", Msg: "no", Hint: "Close it."}
		case req.Script == "fails":
			res := exited(126, "out", "err")
			res.Commands = []tipstaff.ScriptCommand{{Line: 3, Words: []string{"grep", "a b"}, ExitCode: 1}, {Line: 4, Words: []string{"id"}, ExitCode: 126, Rule: "allowlist", Msg: "id is not allowed"}}
			res.Further = 2
			return res, nil
		case req.Script == "passes":
			res := exited(0, "out", "")
			res.Commands = []tipstaff.ScriptCommand{{Line: 1, Words: []string{"grep"}, ExitCode: 1}}
			return res, nil
		}
		return exited(0, req.Script+req.Line, ""), nil
	}
	o := r.options()
	o.Shell = true
	adjust(&o)
	return connect(t, o), asked
}

func toolText(t *testing.T, cs *mcp.ClientSession, name string, arguments map[string]any) string {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text //nolint:forcetypeassert // every answer is text
}

func TestScriptsAreOfferedOnlyWhereTheShellIsOn(t *testing.T) {
	for _, c := range []struct {
		says           string
		shell, session bool
	}{{"off", false, true}, {"on", true, true}, {"without sessions", true, false}} {
		cs, _ := shellServer(t, func(o *Options) {
			o.Shell = c.shell
			if !c.session {
				o.Sessions = nil
			}
		})
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Tools, func(m *mcp.Tool) bool { return m.Name == executeShellName })
		if (i >= 0) != c.shell {
			t.Fatalf("%s: offered %v", c.says, i >= 0)
		}
		if i >= 0 {
			schema, _ := list.Tools[i].InputSchema.(map[string]any)
			properties, _ := schema["properties"].(map[string]any)
			if _, has := properties["session_id"]; has != c.session {
				t.Errorf("%s: sessions %v", c.says, has)
			}
		}
	}
}

func TestAnAnswerListsTheCommandsOfAScriptThatFailed(t *testing.T) {
	cs, asked := shellServer(t, func(*Options) {})
	want := `exit_code: 126
commands:
  - line: 3
    words: ["grep", "a b"]
    exit_code: 1
  - line: 4
    words: ["id"]
    exit_code: 126
    refused: "id is not allowed (allowlist)"
further_commands: 2
stdout: "out"
stderr: "err"
`
	if got := toolText(t, cs, executeShellName, map[string]any{"script": "fails", "cwd": "sub", "input": "x"}); got != want {
		t.Errorf("answered\n%s", got)
	}
	if r := (*asked)[0]; r.Script != "fails" || r.Argv != nil || r.Line != "" || r.Dir != "sub" || string(r.Stdin) != "x" || r.Family != tipstaff.Execute {
		t.Errorf("asked %+v", r)
	}
	if got := toolText(t, cs, executeShellName, map[string]any{"script": "passes"}); strings.Contains(got, "commands:") {
		t.Errorf("answered\n%s", got)
	}
	if got := toolText(t, cs, executeShellName, map[string]any{"script": ""}); !strings.Contains(got, "is empty") {
		t.Errorf("an empty script: %s", got)
	}
}

func TestAScriptInASessionHasItsDirectoryAndNoOther(t *testing.T) {
	cs, asked := shellServer(t, func(*Options) {})
	made := toolText(t, cs, "terminal_create_session", map[string]any{"taskId": "T-1", "agentId": "a"})
	_, rest, _ := strings.Cut(made, `"sessionId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if got := toolText(t, cs, executeShellName, map[string]any{"script": "pwd", "session_id": id}); !strings.Contains(got, "exit_code: 0") {
		t.Fatalf("%s\n%s", made, got)
	}
	if r := (*asked)[0]; string(r.Session) != id || r.Origin.Task != "T-1" || !slices.Contains(r.Fixed, "CAWS_SESSION_ID="+id) || r.Dir != "/ws" {
		t.Errorf("asked %+v", r)
	}
	for says, arguments := range map[string]map[string]any{
		"exclude each other": {"script": "pwd", "session_id": id, "cwd": "/"},
		"SESSION_NOT_FOUND":  {"script": "pwd", "session_id": ""},
	} {
		if got := toolText(t, cs, executeShellName, arguments); !strings.Contains(got, says) {
			t.Errorf("%v: %s", arguments, got)
		}
	}
}
