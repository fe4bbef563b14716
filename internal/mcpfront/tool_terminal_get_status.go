package mcpfront

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/identity"
)

var terminalStatus = tool{
	name:  "terminal_get_status",
	title: "Ask how a session stands",
	description: `Tell how a session stands: its directory, its state (idle, running, completed or failed, by its last command) and how many commands it has started.
Example: {"sessionId": "term-…"}`,
	params: []parameter{sessionParameter},
	output: answerSchema(map[string]any{
		"session": map[string]any{"type": "object", "properties": map[string]any{
			"id":               schemaText,
			"taskId":           schemaText,
			"agentId":          schemaText,
			"workingDirectory": schemaText,
			"state":            map[string]any{"type": "string", "enum": []string{"idle", "running", "completed", "failed"}},
			"createdAt":        schemaText,
			"lastCommandAt":    schemaText,
			"commandCount":     schemaInteger,
		}},
	}),
	readOnly: true, idempotent: true, session: true,
	scopes: []identity.Scope{identity.Sessions, identity.Read},
	refuse: refuseJSON,
	call: func(_ context.Context, s *Server, c *caller, a arguments) (*mcp.CallToolResult, error) {
		in, err := s.opts.Sessions.Info(c.origin.Principal, tipstaff.SessionID(a.text["sessionId"]))
		if err != nil {
			return nil, err
		}
		return jsonAnswer(struct {
			Success bool          `json:"success"`
			Session sessionStatus `json:"session"`
		}{true, statusOf(in)})
	},
}

type sessionStatus struct {
	ID               tipstaff.SessionID    `json:"id"`
	TaskID           string                `json:"taskId"`
	AgentID          string                `json:"agentId"`
	WorkingDirectory string                `json:"workingDirectory"`
	State            tipstaff.SessionState `json:"state"`
	CreatedAt        string                `json:"createdAt"`
	LastCommandAt    string                `json:"lastCommandAt,omitempty"`
	CommandCount     int                   `json:"commandCount"`
}

func statusOf(in tipstaff.Session) sessionStatus {
	st := sessionStatus{
		ID: in.ID, TaskID: in.Origin.Task, AgentID: in.Origin.Agent, WorkingDirectory: in.Dir,
		State: in.State, CreatedAt: stamp(in.Created), CommandCount: in.Commands,
	}
	if !in.LastCommand.IsZero() {
		st.LastCommandAt = stamp(in.LastCommand)
	}
	return st
}
