package mcpfront

import (
	"context"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/identity"
)

var executeCommand = tool{
	name:  "execute_command",
	title: "Run a command line",
	description: `Run one program, given as a command line, and return its exit code and output as YAML.
No shell runs: the line is split into words by POSIX quoting; pipes, redirections, ;, &&, $VAR, $(…) and backquotes outside single quotes are refused, and globs, braces and ~ reach the program as they are. Make one call per command; use cwd instead of cd; put text with special characters in single quotes.
Standard input is empty unless input is given. When the time is up, the program and everything it started is ended and exit_code is 124. Output beyond the limit is cut in the middle and marked truncated.
Example: {"command": "git log --oneline -n 5", "cwd": "frontend"}`,
	params: []parameter{
		{name: "command", kind: text, required: true, doc: "The program's name and its arguments, separated by blanks."},
		cwdParameter, timeoutParameter, inputParameter,
	},
	destructive: true, openWorld: true, family: tipstaff.Execute,
	scopes: []identity.Scope{identity.Execute},
	refuse: refuseText,
	call: func(ctx context.Context, s *Server, c *caller, a arguments) (*mcp.CallToolResult, error) {
		req := executeRequest(c, a, "execute_command")
		req.Line = a.text["command"]
		answer, err := s.execute(ctx, c, req)
		return answer, s.suggestShell(err)
	},
}

// The parameters of both tools of the family.
var (
	cwdParameter     = parameter{name: "cwd", kind: text, doc: "Working directory, absolute or relative to the server's. Default: the server's."}
	timeoutParameter = parameter{name: "timeout_ms", kind: millis, doc: "Time limit in milliseconds. Default: 30000, unless the operator set another."}
	inputParameter   = parameter{name: "input", kind: text, doc: "Text for the program's standard input, which is then closed."}
)

// executeRequest returns the part of a request that both tools share.
func executeRequest(c *caller, a arguments, name tipstaff.Tool) tipstaff.Request {
	req := tipstaff.Request{
		Origin: c.origin, Tool: name, Family: tipstaff.Execute,
		Fixed: c.origin.Trace.Variables(),
		Stdin: a.input(), Timeout: a.millis["timeout_ms"],
	}
	req.Dir, req.DirGiven = a.given("cwd")
	return req
}

// shellOnly are the rules that refuse what a shell could run.
var shellOnly = []string{
	"command-line/NEWLINE", "command-line/OPERATOR", "command-line/COMMENT", "command-line/SUBSTITUTION",
	"command-line/EXPANSION", "command-line/DOLLAR_QUOTE", "command-line/ASSIGNMENT", "command-line/RESERVED_WORD",
}

// suggestShell leads a command line that only a shell can run to the tool that runs
// scripts, if there is one.
func (s *Server) suggestShell(err error) error {
	e, is := errors.AsType[*tipstaff.Error](err)
	if !is || !s.opts.Shell || e.Code != tipstaff.InvalidCommandLine || !slices.Contains(shellOnly, e.Rule) {
		return err
	}
	led := *e
	led.Hint = "No shell runs in this tool. Send the line to " + executeShellName + " as its script: it has pipes, redirections, variables and lists of commands, and judges each command by itself."
	return &led
}

// execute hands a request to the monitor and answers with the outcome.
func (s *Server) execute(ctx context.Context, c *caller, req tipstaff.Request) (*mcp.CallToolResult, error) {
	c.judged = true
	r, err := s.opts.Road.Execute(ctx, req, c.live(nil))
	if err != nil {
		return nil, err
	}
	return yamlAnswer(r)
}
