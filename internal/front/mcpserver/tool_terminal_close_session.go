package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
)

var terminalClose = tool{
	name:  "terminal_close_session",
	title: "Close a terminal session",
	description: `Close a session: whatever still runs in it is ended, and its id is not known any more.
Example: {"sessionId": "term-…"}`,
	params: []parameter{sessionParameter},
	output: answerSchema(map[string]any{
		"sessionId": schemaText,
	}),
	destructive: true, session: true,
	scopes: []authn.Scope{authn.Sessions},
	refuse: refuseJSON,
	call: func(_ context.Context, s *Server, c *caller, a arguments) (*mcp.CallToolResult, error) {
		id := tipstaff.SessionID(a.text["sessionId"])
		if err := s.opts.Sessions.Close(c.origin.Principal, id); err != nil {
			return nil, err
		}
		return jsonAnswer(struct {
			Success   bool               `json:"success"`
			Message   string             `json:"message"`
			SessionID tipstaff.SessionID `json:"sessionId"`
		}{true, "Session closed and resources freed", id})
	},
}
