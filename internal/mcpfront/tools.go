package mcpfront

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/approval"
	"tipstaff/internal/identity"
	"tipstaff/internal/runner"
)

// tools are what the server offers. The library lists them by name.
var tools = []tool{
	executeCommand,
	executeProcess,
	terminalCreate,
	terminalExecute,
	terminalStatus,
	terminalClose,
}

// tool is one row of the table: what a client is told, and what a call does.
type tool struct {
	name        string
	title       string
	description string
	params      []parameter
	output      map[string]any // schema of the structured answer; nil: text only
	// What a client may assume, all four said aloud.
	readOnly, destructive, idempotent, openWorld bool
	// session: offered only together with terminal sessions.
	session bool
	// scopes: a caller needs one of them; none means that nobody may.
	scopes []identity.Scope
	// family: of a tool that runs a command.
	family tipstaff.Family
	// call carries out one call. An error becomes an answer that a model can
	// read and mend.
	call func(ctx context.Context, s *Server, c *caller, a arguments) (*mcp.CallToolResult, error)
	// refuse tells an error in the manner of the tool's family.
	refuse func(error) *mcp.CallToolResult
}

// caller is who calls, as far as the connection knows.
type caller struct {
	origin  tipstaff.Origin
	in      *inbound
	session tipstaff.SessionID // that the call names
	// judged is set when the call has reached the road, which records it.
	judged bool
	// progress and asking are of calls that run a command.
	progress *progress
	asking   *asking
}

// live is how the client takes part in its command.
func (c *caller) live(started func()) runner.Live {
	l := runner.Live{Started: func() {
		c.progress.now(running)
		if started != nil {
			started()
		}
	}}
	l.Stdout, l.Stderr = c.progress.heard()
	l.Ask, l.Approval = c.asking.ask(), c.asking.claim
	return l
}

func (t tool) declaration() *mcp.Tool {
	d := &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description,
		InputSchema: inputSchema(t.params),
		Annotations: &mcp.ToolAnnotations{
			Title: t.title, ReadOnlyHint: t.readOnly, IdempotentHint: t.idempotent,
			DestructiveHint: &t.destructive, OpenWorldHint: &t.openWorld,
		},
	}
	if t.output != nil {
		d.OutputSchema = t.output
	}
	return d
}

// handler makes a tool of the library out of a row: checked arguments go in,
// errors come out as answers.
func (s *Server) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in := inboundOf(ctx)
		c := &caller{origin: origin(in, req), in: in}
		defer in.settle()
		a, err := t.admit(in.principal, req.Params.Arguments)
		c.session = tipstaff.SessionID(a.text[sessionParameter.name])
		var res *mcp.CallToolResult
		if err == nil && t.family != "" {
			var stop func()
			c.progress, stop = s.follow(ctx, req)
			defer stop()
			c.asking, err = s.asking(req, c.origin, c.progress)
		}
		if err == nil {
			res, err = t.call(ctx, s, c, a)
		}
		if errors.Is(err, approval.ErrLater) {
			res, err = c.asking.question()
		}
		if err == nil {
			return res, nil
		}
		if !c.judged {
			s.opts.Road.NoteRefusal(tipstaff.Request{Tool: tipstaff.Tool(t.name), Family: t.family, Origin: c.origin, Session: c.session}, err)
		}
		s.logFault(t.name, err)
		return t.refuse(err), nil
	}
}

// origin says who calls.
func origin(in *inbound, req *mcp.CallToolRequest) tipstaff.Origin {
	o := tipstaff.Origin{Front: in.peer.front, Principal: in.principal.Name, Call: in.callName()}
	o.Trace = traceOf(req.Params.Meta)
	o.Client = clientName(req.Session.InitializeParams())
	return o
}

// clientName is what a client calls itself; "" if it does not.
func clientName(p *mcp.InitializeParams) string {
	if p == nil || p.ClientInfo == nil {
		return ""
	}
	return clipped(p.ClientInfo.Name + "/" + p.ClientInfo.Version)
}

// clipped bounds what a client says of itself.
func clipped(s string) string { return s[:min(len(s), 200)] }

// logFault tells the operator of errors that are not the caller's.
func (s *Server) logFault(tool string, err error) {
	e := tipstaff.AsError(err)
	if e.Code == tipstaff.Internal || e.Code == tipstaff.NotRecorded {
		s.opts.Log.Error("call failed", "tool", tool, "code", string(e.Code), "error", err)
	}
}
