package mcpserver

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/policy/approval"
)

// step is one step of a call on its way to its execution. What it opens, it closes by
// leave, which may be nil. An error ends the call there.
type step func(a arguments) (leave func(), err error)

// gate lets a call through, whether it came from a client here or over a gateway: the
// scopes and the arguments first, then the steps in their order, of which the last one
// carries the call out. A call that ends before the monitor has judged it is recorded as
// refused. What steps have opened is closed before gate returns, the latest first.
func (s *Server) gate(t tool, c *caller, steps ...step) error {
	a, err := t.admit(c.in.principal, c.raw)
	if c.in.refused != nil {
		err = c.in.refused
	}
	c.session = tipstaff.SessionID(a.text[sessionParameter.name] + a.text[shellSession.name])
	for i := 0; i < len(steps) && err == nil; i++ {
		var leave func()
		if leave, err = steps[i](a); leave != nil {
			defer leave() //nolint:revive // there are a handful of steps
		}
	}
	if err == nil {
		return nil
	}
	if !c.judged {
		s.opts.Monitor.NoteRefusal(tipstaff.Request{Tool: tipstaff.Tool(t.name), Family: t.family, Origin: c.origin, Session: c.session}, err)
	}
	s.logFault(t.name, err)
	return err
}

// handler makes a handler for the library from a row of the table. Errors become answers
// that a model can act on.
func (s *Server) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in := inboundOf(ctx)
		c := &caller{origin: origin(in, req), in: in, raw: req.Params.Arguments, progress: (*progress)(nil)}
		defer in.release()
		var res *mcp.CallToolResult
		err := s.gate(t, c,
			func(a arguments) (func(), error) { return s.followCall(ctx, req, t, c, a), nil },
			func(arguments) (func(), error) { return nil, s.askClient(req, t, c) },
			func(arguments) (func(), error) { return s.showCall(req, t, c), nil },
			func(a arguments) (_ func(), err error) {
				if res, err = s.exec.execute(ctx, t, c, a); errors.Is(err, approval.ErrLater) {
					res, err = c.asking.question()
				}
				return nil, err
			})
		if err != nil {
			res = t.refuse(err)
		} else {
			res = c.shown.told(res)
		}
		return answerOnce(c.origin.Client, res), nil
	}
}

// followCall lets the client follow how the call goes on.
func (s *Server) followCall(ctx context.Context, req *mcp.CallToolRequest, t tool, c *caller, a arguments) (leave func()) {
	c.form = s.formOf(t, c, a)
	if t.family == "" && !t.follows {
		return nil
	}
	var asked tipstaff.Request
	if t.request != nil {
		asked = t.request(c, a)
	}
	p, stop := s.follow(ctx, req, asked)
	c.progress = p
	return stop
}

// askClient finds out how the person at the client can be asked, for tools that run
// something.
func (s *Server) askClient(req *mcp.CallToolRequest, t tool, c *caller) (err error) {
	if t.family != "" {
		c.asking, err = s.asking(req, c.origin, c.progress)
	}
	return err
}

// showCall lets the page of the client show the command.
func (s *Server) showCall(req *mcp.CallToolRequest, t tool, c *caller) (leave func()) {
	if t.family == "" || !s.shows() || !declaresApps(req) {
		return nil
	}
	return s.shown.begin(c, c.raw)
}

// logFault logs errors that are not the caller's fault.
func (s *Server) logFault(tool string, err error) {
	e := tipstaff.AsError(err)
	if e.Code == tipstaff.Internal || e.Code == tipstaff.NotRecorded {
		s.opts.Log.Error("call failed", "tool", tool, "code", string(e.Code), "error", err)
	}
}
