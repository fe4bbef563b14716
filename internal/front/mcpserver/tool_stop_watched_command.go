package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/front/authn"
	"tipstaff/internal/run/job"
)

var stopWatchedCommand = tool{
	name: "stop_watched_command",
	description: `End a command with everything that it has started, for a page, also one whose call waits for it. What the model has read stays as it is.
Example: {"command_id": "cmd_…"}`,
	params:      []parameter{commandIDParameter},
	output:      answerSchema,
	destructive: true, idempotent: true, jobs: true, app: true,
	scopes: []authn.Scope{authn.Execute, authn.Sessions},
	refuse: refuseJSON,
	call: func(ctx context.Context, s *Server, c *caller, a arguments) (*mcp.CallToolResult, error) {
		j, err := s.opts.Jobs.Find(c.owner(), tipstaff.RequestID(a.text[commandIDParameter.name]))
		if err != nil {
			return nil, err
		}
		j.StopWatched(byCaller(c, j, "stop_watched_command")) // false: it has ended, or is being ended
		waiting, stop := context.WithTimeout(ctx, untilEnd)
		defer stop()
		_, _ = j.Wait(waiting, job.Until{}) // its answer tells how it went
		return jsonAnswer(watched{Success: true, State: watchState(j.Status().State), CommandID: j.ID()})
	},
}
