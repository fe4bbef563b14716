package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
)

var terminalExecute = tool{
	name:  terminalExecuteName,
	title: "Run a command in a session",
	description: `Run one allowed program in a session and return its exit code and output as JSON; success is true exactly when exitCode is 0.
No shell runs: arguments reach the program as they are, and arguments that only a shell would understand (operators, redirections, $(…), $NAME) are refused with UNSAFE_ARGUMENTS, except where the program takes free text (a commit message, a pattern, program text). Standard input is empty unless input is given. Commands of one session wait for each other. When the time is up, the program and everything it started is ended (TIMEOUT_EXCEEDED).
Example: {"sessionId": "term-…", "command": "npm", "args": ["test", "--coverage"], "timeout": 120000}`,
	params: []parameter{
		sessionParameter,
		{name: "command", kind: text, required: true, doc: "The program's name; it must be on the allowlist."},
		{name: "args", kind: texts, doc: "The arguments, one item each. Default: none."},
		{name: "timeout", kind: millis, doc: "Limit in milliseconds, from the command's start. Default 60000, at most 300000, unless the operator set others."},
		inputParameter, backgroundParameter, yieldParameterJSON, ttyParameter, maxOutputParameterJSON, rawParameter, callParameterJSON,
	},
	output: answerSchema(map[string]any{
		"exitCode":  schemaInteger,
		"stdout":    schemaText,
		"stderr":    schemaText,
		"duration":  schemaInteger,
		"truncated": schemaBoolean,
		"commandId": schemaText,
		"cleaned":   schemaBoolean,
		"signal":    schemaText,

		// of a command in the background
		"state":      schemaText,
		"nextOffset": schemaInteger,
		"totalBytes": schemaInteger,
		"output":     schemaText,
	}),
	destructive: true, openWorld: true, session: true, family: tipstaff.Terminal,
	scopes: []authn.Scope{authn.Sessions},
	refuse: refuseJSON,
	request: func(c *caller, a arguments) tipstaff.Request {
		return terminalRequest(c, tipstaff.Session{ID: c.session}, a)
	},
	call: func(ctx context.Context, s *Server, c *caller, a arguments) (*mcp.CallToolResult, error) {
		out, err := s.inSession(ctx, c, runModeOf(a), func(in tipstaff.Session) tipstaff.Request { return terminalRequest(c, in, a) })
		if err != nil {
			return nil, err
		}
		return s.answerJSON(c, out)
	},
}

var sessionParameter = parameter{name: "sessionId", kind: text, required: true, doc: "The session, from terminal_create_session."}

// terminalRequest combines what the session holds with what the call asks.
func terminalRequest(c *caller, in tipstaff.Session, a arguments) tipstaff.Request {
	origin := c.origin
	origin.Task, origin.Agent = in.Origin.Task, in.Origin.Agent
	return tipstaff.Request{
		ID: c.id, Session: in.ID, Origin: origin, Tool: tipstaff.Tool(terminalExecuteName), Family: tipstaff.Terminal,
		Argv: append([]string{a.text["command"]}, a.texts["args"]...),
		Dir:  in.Dir, DirGiven: in.DirGiven, Env: in.Env, OfSession: in.Env, Dropped: in.Dropped,
		Fixed:   append(sessionVariables(in), origin.Trace.Variables()...),
		Stdin:   a.input(),
		Timeout: a.millis["timeout"],
	}
}

// sessionVariables are those by which a command knows its session.
func sessionVariables(in tipstaff.Session) []string {
	return []string{"CAWS_TASK_ID=" + in.Origin.Task, "CAWS_AGENT_ID=" + in.Origin.Agent, "CAWS_SESSION_ID=" + string(in.ID)}
}

// terminalExecuteName is declared outside of the tool's row because the row's
// own function needs it.
const terminalExecuteName = "terminal_execute_command"
