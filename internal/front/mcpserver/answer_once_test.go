package mcpserver

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
)

func TestB3AClientThatShowsBothFormsShowsAnAnswerOnce(t *testing.T) {
	const escaped, plain = `a\u200bb`, "a\u200bb" // in the text as the protocol says it, and as JSON.stringify writes it
	for client, form := range map[string]string{
		"test": escaped, "claude-code": escaped, "codex-mcp-client": escaped, "gemini-cli-mcp-client": escaped, "opencode": escaped,
		"copilot-cli": plain,
	} {
		t.Run(client, func(t *testing.T) {
			cs := connectAs(t, (&fakeMonitor{execute: func(_ context.Context, req tipstaff.Request) (tipstaff.Result, error) {
				r := exited(0, plain, "")
				switch req.Argv[0] {
				case "slow":
					r.Cause, r.ExitCode = tipstaff.TimedOut, 124
				case "refused":
					return r, &tipstaff.Error{Code: tipstaff.CommandNotAllowed, Msg: "No."}
				}
				return r, nil
			}}).options(), client)
			made := callTool(t, cs, "terminal_create_session", map[string]any{"taskId": "t", "agentId": "a"})
			var session struct{ SessionID string }
			if err := json.Unmarshal([]byte(textOf(t, made)), &session); err != nil {
				t.Fatal(err)
			}
			for _, command := range []string{"quick", "slow", "refused"} {
				res := callTool(t, cs, "terminal_execute_command", map[string]any{"sessionId": session.SessionID, "command": command})
				text := textOf(t, res)
				if command != "refused" && !strings.Contains(text, `"stdout":"`+form+`"`) {
					t.Errorf("%q: the text is %s", command, text)
				}
				var fromText any
				if err := json.Unmarshal([]byte(text), &fromText); err != nil || res.IsError != (command != "quick") || !reflect.DeepEqual(fromText, res.StructuredContent) {
					t.Errorf("%q: the forms differ, or IsError is not as it should be: %v\n%s\n%v", command, err, text, res.StructuredContent)
				}
			}
		})
	}
}

func callTool(t *testing.T, cs *mcp.ClientSession, tool string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestB3StringifiedIsWhatJavaScriptWrites(t *testing.T) {
	for in, want := range map[string]string{
		"":                        `""`,
		"a\u200bb":                "\"a\u200bb\"",
		"\u00a0\ufeff\u2028":      "\"\u00a0\ufeff\u2028\"",
		"\U000e0001x":             "\"\U000e0001x\"", // a pair of escapes before
		"\"\\ \b\f\n\r\t":         `"\"\\ \b\f\n\r\t"`,
		`a\u200b`:                 `"a\\u200b"`,
		"\\\u200b":                "\"\\\\\u200b\"",
		"\x01\x1b":                `"\u0001\u001b"`,
		"\x7f\u009b":              `"\u007f\u009b"`, // stay escaped, unlike there
		"<&> \U0001f468\u200d👩 é": "\"<&> \U0001f468\u200d👩 é\"",
		"\xff":                    "\"\ufffd\"",
	} {
		res, err := jsonAnswer(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := stringified(textOf(t, res)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
