package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/fleet/rpc"
	"tipstaff/internal/front/authn"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
	"tipstaff/internal/run"
	"tipstaff/internal/strictjson"
)

// Remote is what carries out calls on other machines.
type Remote struct {
	Offers  Offers
	Carrier rpc.Carrier
	Gate    Gate
}

// Gate decides about a command without running it. It is implemented by
// internal/monitor.
type Gate interface {
	// Permit returns nil if the command may be asked for elsewhere. It records what
	// it refuses and what a person is asked. What a person has allowed counts once more
	// when again is called: for the same call, which comes again with the answer to
	// another question.
	Permit(ctx context.Context, req tipstaff.Request, live run.Live) (again func(), err error)
}

// remoteExecutor carries out calls on other machines.
type remoteExecutor struct {
	s  *Server
	to *Remote
}

// callEnvelope is what the front half of a call tells the other half.
type callEnvelope struct {
	Front       string        `json:"front"`
	Client      string        `json:"client,omitempty"`
	Call        string        `json:"call,omitempty"`
	TraceParent string        `json:"traceparent,omitempty"`
	TraceState  string        `json:"tracestate,omitempty"`
	Scopes      []authn.Scope `json:"scopes,omitempty"`
	Form        crossingForm  `json:"form"`
	// Asks: there is a person at the caller's end who can be asked. Follows: the
	// caller wants signs of life.
	Asks    bool `json:"asks,omitempty"`
	Follows bool `json:"follows,omitempty"`
	// Hands: the person can be asked with the answer of this call. Brought is what the
	// person has said to the question of an earlier one.
	Hands   bool           `json:"hands,omitempty"`
	Brought *broughtAnswer `json:"brought,omitempty"`
}

// crossingForm is an answerForm.
type crossingForm struct {
	Bytes  int    `json:"bytes,omitempty"`
	Raw    bool   `json:"raw,omitempty"`
	Reads  bool   `json:"reads,omitempty"`
	Yields string `json:"yields,omitempty"`
}

func (e remoteExecutor) execute(ctx context.Context, t tool, c *caller, a arguments) (*mcp.CallToolResult, error) {
	c.in.release()
	again, err := e.permit(ctx, t, c, a)
	if err != nil {
		c.judged = true
		return nil, err
	}
	asks := c.asking.waits()
	call, err := c.crosses(t, a, asks != nil)
	if err != nil {
		return nil, err
	}
	answer, err := e.to.Carrier.Carry(ctx, call, &waiter{c: c, asks: asks})
	if err == nil {
		return readAnswer(answer)
	}
	c.judged = true // the runner has recorded it, if it came so far
	if err = c.asking.takeOver(c.origin, err); errors.Is(err, approval.ErrLater) {
		again()
	}
	return nil, err
}

// crosses is the call as it goes to a runner.
func (c *caller) crosses(t tool, a arguments, asks bool) (rpc.Call, error) {
	p, follows := c.progress.(*progress)
	id, given := callID(t, a)
	call := rpc.Call{
		ID: id, Given: given, Tool: t.name, Principal: c.origin.Principal, Target: target(t, c, a),
		Stays: runModeOf(a).stays(), Reads: t.readOnly, Opens: t.name == terminalCreate.name, Labels: a.labels(), Arguments: c.raw,
	}
	f := callEnvelope{
		Front: c.origin.Front, Client: c.origin.Client, Call: c.origin.Call,
		TraceParent: c.origin.Trace.Parent(), TraceState: c.origin.Trace.State(),
		Scopes: c.in.principal.Scopes, Form: crossingForm{c.form.bytes, c.form.raw, c.form.reads, c.form.yields},
		Asks: asks, Follows: follows && p != nil, Hands: c.asking.hands(),
	}
	if c.asking != nil && c.asking.brought != nil {
		f.Brought, call.At = c.asking.brought, c.asking.brought.Runner
	}
	var err error
	call.Front, err = json.Marshal(f)
	return call, err
}

// permit asks the gateway's own policy.
func (e remoteExecutor) permit(ctx context.Context, t tool, c *caller, a arguments) (again func(), err error) {
	switch {
	case t.request != nil:
		return e.to.Gate.Permit(ctx, t.request(c, a), c.live(nil))
	case t.name == terminalCreate.name:
		_, err = e.s.opts.Monitor.AdmitSession(sessionAsked(c, a))
	}
	return func() {}, err
}

// target is the id that leads to the runner of a call.
func target(t tool, c *caller, a arguments) string {
	if t.jobs {
		return a.text[commandIDParameter.name]
	}
	return string(c.session)
}

// waiter is the caller of a call that is carried out elsewhere.
type waiter struct {
	c    *caller
	asks approval.Ask
}

func (w *waiter) Tell(p rpc.Progress) {
	if own, is := w.c.progress.(*progress); is {
		own.take(p)
	}
}

func (w *waiter) MayReturn() bool { return w.c.mayReturn() }

// Ask puts a runner's question to the person at the client.
func (w *waiter) Ask(ctx context.Context, question []byte) ([]byte, error) {
	var q policy.Question
	if err := strictjson.Unmarshal(question, &q); err != nil {
		return nil, fmt.Errorf("cannot read a runner's question: %w", err)
	}
	if w.asks == nil {
		return nil, errors.New("nobody can be asked at this client")
	}
	q.Origin = w.c.origin // who is asked is known here
	answer, err := w.asks(ctx, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// wireAnswer is a [mcp.CallToolResult] whose structured content stays as it came.
type wireAnswer struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func readAnswer(data []byte) (*mcp.CallToolResult, error) {
	var w wireAnswer
	if err := strictjson.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("cannot read a runner's answer: %w", err)
	}
	res := &mcp.CallToolResult{IsError: w.IsError, Content: []mcp.Content{}}
	for _, part := range w.Content {
		if part.Type != "text" {
			return nil, fmt.Errorf("a runner's answer holds a part of the kind %q", part.Type)
		}
		res.Content = append(res.Content, &mcp.TextContent{Text: part.Text})
	}
	if w.Structured != nil {
		res.StructuredContent = w.Structured
	}
	return res, nil
}

// take notes how it goes with a call that is carried out elsewhere.
func (p *progress) take(t rpc.Progress) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.since, p.errLast = t.Phase, time.Now().Add(-t.Age), t.ErrLast
	p.out, p.err = lastLine{buf: []byte(t.Out)}, lastLine{buf: []byte(t.Err)}
}
