package mcpserver

//lint:file-ignore SA1019 The protocol has deprecated logging and names nothing in its place; what clients have today is this.

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/events"
	"tipstaff/internal/strictjson"
)

// Clients that ask for it receive the events of their connection (contract B14)
// as log messages. A client of the stateful protocol asks with logging/setLevel
// and receives events as they happen; a client of the stateless protocol asks
// with each call and receives them before the answer.

// listener is the subscription of one connection. Its name is in the records of
// all calls of the connection, which distinguishes its events from others.
type listener struct {
	bus  *events.Bus
	name string

	mu    sync.Mutex
	sub   *events.Subscription // nil until the client asks
	ended bool
}

// capabilities are those that the server declares.
func capabilities(o Options) *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if o.Outputs != nil {
		c.Resources = &mcp.ResourceCapabilities{}
	}
	if o.Events != nil {
		c.Logging = &mcp.LoggingCapabilities{}
	}
	return c
}

// kinds returns the kinds of methods that a server with these capabilities has.
func kinds(c *mcp.ServerCapabilities) map[string]bool {
	return map[string]bool{
		"completion": c.Completions != nil,
		"logging":    c.Logging != nil,
		"prompts":    c.Prompts != nil,
		"resources":  c.Resources != nil,
		"tools":      c.Tools != nil,
	}
}

// Bounds of the events that wait for a client that does not read.
const (
	eventsWaiting = 256
	bytesWaiting  = 256 << 10
)

// tellEvents implements both ways of asking.
func (s *Server) tellEvents(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		if !ok || s.opts.Events == nil {
			return next(ctx, method, req)
		}
		switch p := req.GetParams().(type) {
		case *mcp.SetLoggingLevelParams:
			if p == nil || !slices.Contains(levels, p.Level) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: level must be one of debug, info, notice, warning, error, critical, alert, emergency"}
			}
			res, err := next(ctx, method, req)
			if err == nil {
				inboundOf(ctx).listen(session)
			}
			return res, err
		case *mcp.CallToolParamsRaw:
			if level, _ := p.GetMeta()[mcp.MetaKeyLogLevel].(string); level != "" {
				return s.tellOfCall(ctx, session, p, func() (mcp.Result, error) { return next(ctx, method, req) })
			}
		}
		return next(ctx, method, req)
	}
}

var levels = []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// begin sends the client all events from now on. Events wait in a bounded
// queue; a client that does not read loses some, and commands never wait for
// it.
func (l *listener) begin(session *mcp.ServerSession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sub != nil || l.ended {
		return
	}
	mine := []byte(`"call":"` + l.name + `/`)
	sub := l.bus.Subscribe(events.Options{Events: eventsWaiting, Bytes: bytesWaiting, Want: func(e events.Event) bool {
		return named(e) && bytes.Contains(e.Data, mine)
	}})
	l.sub = sub
	go func() {
		// The subscription ends with the connection, and this goroutine with
		// it.
		ctx := context.Background()
		for e, ok := sub.Next(ctx); ok; e, ok = sub.Next(ctx) {
			tell(ctx, session, e)
		}
	}()
}

// end is called when the connection has ended.
func (l *listener) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.sub != nil {
		l.sub.Close()
	}
}

// tellOfCall runs a call that asks for its events, and sends them before the
// answer. The call is over by then, so it does not wait for this.
func (s *Server) tellOfCall(ctx context.Context, session *mcp.ServerSession, p *mcp.CallToolParamsRaw, call func() (mcp.Result, error)) (mcp.Result, error) {
	mine := []byte(`"call":"` + inboundOf(ctx).callName() + `"`)
	closing := closingOf(p)
	sub := s.opts.Events.Subscribe(events.Options{Events: eventsWaiting, Bytes: bytesWaiting, Want: func(e events.Event) bool {
		return named(e) && (bytes.Contains(e.Data, mine) || closing != nil && bytes.Contains(e.Data, closing) && bytes.Contains(e.Data, sessionClosed))
	}})
	defer sub.Close()
	res, err := call()
	if r, ok := res.(*mcp.CallToolResult); closing != nil && (!ok || r == nil || r.IsError) {
		return res, err // it closed nothing, because the session is not its own
	}
	for e, ok := sub.Poll(); ok; e, ok = sub.Poll() {
		tell(ctx, session, e)
	}
	return res, err
}

var sessionClosed = []byte(`"event":"` + string(audit.SessionClose) + `"`)

// closingOf returns the name that the record has for the session that a call
// would close: the record of the end of a session has the name of the call that
// made it.
func closingOf(p *mcp.CallToolParamsRaw) []byte {
	var a struct {
		SessionID string `json:"sessionId"`
	}
	if p.Name != terminalClose.name || strictjson.Unmarshal(p.Arguments, &a) != nil {
		return nil
	}
	id, err := json.Marshal(a.SessionID)
	if err != nil {
		return nil
	}
	return append([]byte(`"session":`), id...)
}

// named reports whether a record has one of the names of the contract. Quotes
// in texts of callers are escaped, so no caller can write such a member.
func named(e events.Event) bool {
	return e.Kind == events.Record && bytes.Contains(e.Data, []byte(`"name":"terminal:`))
}

// eventData is the form of an event for clients.
type eventData struct {
	Name       audit.Name `json:"name"`
	Session    string     `json:"session,omitempty"`
	CommandID  string     `json:"command_id,omitempty"`
	Code       string     `json:"code,omitempty"`
	ExitCode   *int       `json:"exit_code,omitempty"`
	DurationMS *int64     `json:"duration_ms,omitempty"`
	Lost       uint64     `json:"lost,omitempty"`
}

// eventsLost tells a slow client how many events it has missed at this point.
const eventsLost audit.Name = "terminal:events:lost"

// tell sends an event. The library drops it if its level is below the one that
// the client asked for.
func tell(ctx context.Context, session *mcp.ServerSession, e events.Event) {
	data := eventData{Name: eventsLost, Lost: e.Count}
	if e.Kind == events.Record {
		var r audit.Record
		if strictjson.Unmarshal(e.Data, &r) != nil {
			return
		}
		data = eventData{Name: r.Name, Session: string(r.Who.Session), CommandID: string(r.Trace.CommandID), Code: string(r.Code)}
		if r.Result != nil {
			data.ExitCode, data.DurationMS = &r.Result.ExitCode, &r.Result.DurationMS
		}
	}
	// The error is ignored: the client has left.
	_ = session.Log(ctx, &mcp.LoggingMessageParams{Level: levelOf(data.Name), Logger: "tipstaff", Data: data})
}

func levelOf(n audit.Name) mcp.LoggingLevel {
	switch n {
	case audit.SecurityViolation, eventsLost:
		return "warning"
	case audit.CommandFailed:
		return "notice"
	}
	return "info"
}
