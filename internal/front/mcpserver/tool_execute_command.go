package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
)

var executeCommand = tool{
	name:  "execute_command",
	title: "Run a command line",
	description: `Run one program, given as a command line, and return its exit code and output as YAML.
No shell runs: the line is split into words by POSIX quoting; pipes, redirections, ;, &&, $VAR, $(…) and backquotes outside single quotes are refused, and so are patterns (*.o) that match files, {a,b} and a leading ~: name the files. Make one call per command; use cwd instead of cd; put text with special characters in single quotes.
Standard input is empty unless input is given. When the time is up, the program and everything it started is ended and exit_code is 124. Output is shown without colours and repeated lines (cleaned); what is beyond the limit is cut in the middle (truncated). Nothing that it starts outlives it; for what is to stay, use background.
Example: {"command": "git log --oneline -n 5", "cwd": "frontend"}`,
	params: []parameter{
		{name: "command", kind: text, required: true, doc: "The program's name and its arguments, separated by blanks."},
		cwdParameter, envParameter, timeoutParameter, inputParameter, backgroundParameter, yieldParameter, ttyParameter, maxOutputParameter, rawParameter, callParameter,
	},
	destructive: true, openWorld: true, family: tipstaff.Execute,
	scopes:  []authn.Scope{authn.Execute},
	refuse:  refuseText,
	request: commandRequest,
	call: func(ctx context.Context, s *Server, c *caller, a arguments) (*mcp.CallToolResult, error) {
		return s.execute(ctx, c, commandRequest(c, a), runModeOf(a))
	},
}

func commandRequest(c *caller, a arguments) tipstaff.Request {
	req := executeRequest(c, a, "execute_command")
	req.Line = a.text["command"]
	return req
}

// The parameters of both tools of the family.
var (
	cwdParameter     = parameter{name: "cwd", kind: text, doc: "Working directory, from the server's, which is the default."}
	timeoutParameter = parameter{name: "timeout_ms", kind: millis, doc: "Limit in milliseconds. Default: 30000, unless the operator set another."}
	envParameter     = parameter{name: "env", kind: variables, doc: "Variables to add."}
	inputParameter   = parameter{name: "input", kind: text, doc: "Text for standard input, then closed."}
)

// executeRequest returns the part of a request that both tools share.
func executeRequest(c *caller, a arguments, name tipstaff.Tool) tipstaff.Request {
	req := tipstaff.Request{
		ID: c.id, Origin: c.origin, Tool: name, Family: tipstaff.Execute,
		Fixed: c.origin.Trace.Variables(),
		Env:   a.vars[envParameter.name], Stdin: a.input(), Timeout: a.millis["timeout_ms"],
	}
	req.Dir, req.DirGiven = a.given("cwd")
	return req
}

// execute hands a request to the monitor and answers with the outcome.
func (s *Server) execute(ctx context.Context, c *caller, req tipstaff.Request, m runMode) (*mcp.CallToolResult, error) {
	out, err := s.carryOut(ctx, c, req, m, nil, nil)
	if err != nil {
		return nil, err
	}
	return s.answerYAML(c, out), nil
}
