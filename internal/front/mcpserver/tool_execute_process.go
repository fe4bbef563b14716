package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
)

var executeProcess = tool{
	name:  "execute_process",
	title: "Run a program with arguments",
	description: `Run one program with a list of arguments and return its exit code and output as YAML.
Each argument reaches the program byte for byte: nothing is split, expanded or unquoted, and no shell runs. Prefer this tool when an argument holds blanks, quotes or special characters. Time limit, output limit, background and cwd are as for execute_command.
Example: {"file": "python3", "args": ["-c", "print('a b')"], "timeout_ms": 5000}`,
	params: []parameter{
		{name: "file", kind: text, required: true, doc: "The program's name, or a path that is allowed."},
		{name: "args", kind: texts, doc: "The arguments, one item each. Default: none."},
		cwdParameter, envParameter, timeoutParameter, inputParameter, backgroundParameter, yieldParameter, ttyParameter, maxOutputParameter, rawParameter, callParameter,
	},
	destructive: true, openWorld: true, family: tipstaff.Execute,
	scopes:  []authn.Scope{authn.Execute},
	refuse:  refuseText,
	request: processRequest,
	call: func(ctx context.Context, s *Server, c *caller, a arguments) (*mcp.CallToolResult, error) {
		return s.execute(ctx, c, processRequest(c, a), runModeOf(a))
	},
}

func processRequest(c *caller, a arguments) tipstaff.Request {
	req := executeRequest(c, a, "execute_process")
	req.Argv = append([]string{a.text["file"]}, a.texts["args"]...)
	return req
}
