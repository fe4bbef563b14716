package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
)

var terminalClose = tool{
	name:        "terminal_close_session",
	description: `Closes a session and ends what still runs in it.`,
	params:      []parameter{sessionParameter},
	output:      answerSchema,
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
