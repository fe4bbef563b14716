package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tipstaff"
	"tipstaff/internal/fleet/rpc"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

// gatewayRoad is the execution path of a gateway: it permits all but what refuses names.
type gatewayRoad struct {
	fakeMonitor

	refuses string

	mu    sync.Mutex
	again int
	asked []tipstaff.Request
	noted []tipstaff.Code
}

func (g *gatewayRoad) Permit(_ context.Context, req tipstaff.Request, _ run.Live) (func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, req)
	if g.refuses != "" && strings.Contains(req.Line, g.refuses) {
		return nil, &tipstaff.Error{Code: tipstaff.CommandNotAllowed, Msg: "The gateway refuses it."}
	}
	return func() { g.again++ }, nil
}

func (g *gatewayRoad) NoteRefusal(_ tipstaff.Request, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noted = append(g.noted, tipstaff.AsError(err).Code)
}

// asIs is a carrier that leads to another server of this process, as a gateway does.
type asIs struct{ to *Server }

func (a asIs) Carry(ctx context.Context, c rpc.Call, at rpc.Caller) ([]byte, error) {
	c.Gateway = "g1"
	return a.to.Carry(ctx, c, at)
}

// sides runs a test on this side of the seam, and across it.
func sides(t *testing.T, try func(t *testing.T, l *lasting, o Options)) {
	t.Helper()
	t.Run("here", func(t *testing.T) {
		l, o := newLasting(t, 4)
		o.Shell = true
		try(t, l, o)
	})
	t.Run("elsewhere", func(t *testing.T) {
		l, o := newLasting(t, 4)
		o.Shell = true
		back := NewServer(o)
		g := &gatewayRoad{}
		try(t, l, Options{
			Version: "1", Monitor: g, Log: slog.New(slog.DiscardHandler), Instructions: o.Instructions,
			Remote: &Remote{Offers: back.offers, Carrier: asIs{back}, Gate: g},
		})
	})
}

func TestASequenceOfCallsIsAnsweredAlikeOnBothSidesOfTheSeam(t *testing.T) {
	sides(t, func(t *testing.T, l *lasting, o Options) {
		cs := connect(t, o)
		made, _ := calling(t, cs, "terminal_create_session", map[string]any{"taskId": "T", "agentId": "a"})
		var session struct{ SessionID string }
		if err := json.Unmarshal([]byte(made), &session); err != nil || session.SessionID == "" {
			t.Fatal(made)
		}
		for range 3 {
			l.ends <- 0
		}
		for _, c := range []struct {
			tool string
			args map[string]any
			want []string
			bad  bool
		}{
			{"execute_command", map[string]any{"command": "hello"}, []string{"exit_code: 0\nstdout: |\n  hello\nstderr: \"\"\n"}, false},
			{"execute_shell", map[string]any{"script": "x"}, []string{"exit_code: 0"}, false},
			{"terminal_execute_command", map[string]any{"sessionId": session.SessionID, "command": "x"}, []string{`{"success":true,"exitCode":0`}, false},
			{"execute_command", map[string]any{"command": "server", "background": true}, []string{"state: \"running\"\ncommand_id: \"cmd_4\"\n", "output: |\n  server\n"}, false},
			{"read_output", map[string]any{"command_id": "cmd_4"}, []string{"state: \"running\"", "output: \"\"\n"}, false},
			{"read_output", map[string]any{"command_id": "cmd_4", "tail": 1}, []string{"output: |\n  server\n"}, false},
			{"read_output", map[string]any{"command_id": "cmd_9"}, []string{"COMMAND_NOT_FOUND"}, true},
			{"execute_command", map[string]any{"command": 7}, []string{`Argument "command" must be a string, not a number. (INVALID_PARAMETERS)`}, true},
			{"execute_command", map[string]any{"other": 7}, []string{`Argument "other" is not known`}, true},
			{"terminal_execute_command", map[string]any{"sessionId": "term-x", "command": "x"}, []string{`"error":"SESSION_NOT_FOUND"`}, true},
			{"terminal_get_status", map[string]any{"sessionId": session.SessionID}, []string{`"state":"completed"`, `"commandCount":1`}, false},
			{"terminal_close_session", map[string]any{"sessionId": session.SessionID}, []string{"Session closed"}, false},
		} {
			text, failed := calling(t, cs, c.tool, c.args)
			for _, want := range c.want {
				if failed != c.bad || !strings.Contains(text, want) {
					t.Errorf("%s %v: failed %v, %s", c.tool, c.args, failed, text)
				}
			}
		}
	})
}

func TestStructuredContentIsTheSameOnBothSides(t *testing.T) {
	sides(t, func(t *testing.T, l *lasting, o Options) {
		cs := connect(t, o)
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "terminal_create_session", Arguments: map[string]any{"taskId": "T", "agentId": "a"}})
		if err != nil {
			t.Fatal(err)
		}
		structured, _ := json.Marshal(res.StructuredContent)
		var a, b any
		_ = json.Unmarshal(structured, &a)
		_ = json.Unmarshal([]byte(textOf(t, res)), &b)
		if fmt.Sprint(a) != fmt.Sprint(b) || a == nil {
			t.Errorf("%v and %v", a, b)
		}
	})
}

func TestACallThatIsMadeAgainUnderItsNameRunsOnce(t *testing.T) {
	l, o := newLasting(t, 4)
	cs := connect(t, o)
	l.ends <- 3
	named := map[string]any{"command": "deploy", "command_id": "d-1"}
	first, _ := calling(t, cs, "execute_command", named)
	again, _ := calling(t, cs, "execute_command", named)
	if first != again || !strings.Contains(first, "exit_code: 3\n") || l.n != 1 {
		t.Errorf("%s, then %s; %d commands", first, again, l.n)
	}
	if text, failed := calling(t, cs, "execute_command", map[string]any{"command": "other", "command_id": "d-1"}); !failed || !strings.Contains(text, "belongs to a call with other arguments. Nothing ran.") || l.n != 1 {
		t.Errorf("other arguments: %s", text)
	}
	if text, failed := calling(t, cs, "execute_command", map[string]any{"command": "x", "command_id": "a b"}); !failed || !strings.Contains(text, `"command_id" must be 1 to 128 characters`) {
		t.Errorf("a bad name: %s", text)
	}
	l.fails = &tipstaff.Error{Code: tipstaff.CommandNotAllowed, Msg: "No."}
	refused := map[string]any{"command": "x", "command_id": "d-2"}
	calling(t, cs, "execute_command", refused)
	l.fails = nil
	l.ends <- 0
	if text, failed := calling(t, cs, "execute_command", refused); failed || !strings.Contains(text, "exit_code: 0\n") {
		t.Errorf("what was refused can be made again: %s", text)
	}
}

func TestTwoCallsAtOnceWithOneNameAreOneCommand(t *testing.T) {
	l, o := newLasting(t, 4)
	cs := connect(t, o)
	answers := make(chan string, 2)
	for range 2 {
		go func() {
			text, _ := calling(t, cs, "execute_command", map[string]any{"command": "deploy", "command_id": "d-1"})
			answers <- text
		}()
	}
	l.ends <- 5
	if a, b := <-answers, <-answers; a != b || !strings.Contains(a, "exit_code: 5") || l.n != 1 {
		t.Errorf("%s and %s; %d commands", a, b, l.n)
	}
}

func TestAGatewayDecidesBeforeItSendsAndLeavesTheRecordToTheRunner(t *testing.T) {
	l, o := newLasting(t, 4)
	back := NewServer(o)
	g := &gatewayRoad{refuses: "secret"}
	cs := connect(t, Options{
		Version: "1", Monitor: g, Log: slog.New(slog.DiscardHandler), Instructions: o.Instructions,
		Remote: &Remote{Offers: back.offers, Carrier: asIs{back}, Gate: g},
	})
	if text, failed := calling(t, cs, "execute_command", map[string]any{"command": "cat secret"}); !failed || !strings.Contains(text, "The gateway refuses it.") || l.n != 0 {
		t.Errorf("%s, %d commands", text, l.n)
	}
	l.fails = &tipstaff.Error{Code: tipstaff.UnsafeArguments, Msg: "The runner refuses it."}
	if text, failed := calling(t, cs, "execute_command", map[string]any{"command": "x", "cwd": "a"}); !failed || !strings.Contains(text, "The runner refuses it.") {
		t.Errorf("%s", text)
	}
	calling(t, cs, "execute_command", map[string]any{"command": 7})
	if len(g.asked) != 2 || g.asked[1].Dir != "a" || g.asked[0].Origin.Principal != "local" || fmt.Sprint(g.noted) != "[INVALID_PARAMETERS]" || len(l.refused) != 0 {
		t.Errorf("asked %+v, the gateway noted %v, the runner %v", g.asked, g.noted, l.refused)
	}
}

// questioner is a monitor that asks a person.
type questioner struct {
	*lasting

	said atomic.Value
}

func (q *questioner) Execute(ctx context.Context, _ tipstaff.Request, live run.Live) (tipstaff.Result, error) {
	if live.Ask == nil {
		return tipstaff.Result{}, errors.New("nobody can be asked")
	}
	a, err := live.Ask(ctx, policy.Question{Handle: "q-1", Asked: policy.Asked{Argv: []string{"rm", "x"}}, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		return tipstaff.Result{}, err
	}
	q.said.Store(a)
	return exited(0, "asked", ""), nil
}

func TestAPersonAtTheClientOfAGatewayIsAskedByTheRunner(t *testing.T) {
	l, o := newLasting(t, 4)
	q := &questioner{lasting: l}
	o.Monitor = q
	back := NewServer(o)
	g := &gatewayRoad{}
	front := Options{
		Version: "1", Monitor: g, Log: slog.New(slog.DiscardHandler), Instructions: o.Instructions, Approvals: &Approvals{},
		Remote: &Remote{Offers: back.offers, Carrier: asIs{back}, Gate: g},
	}
	say, hear, _ := lines(t, front)
	say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"t","version":"1"}}}`)
	hear()
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_command","arguments":{"command":"rm x"}}}`)
	var asked struct {
		ID     json.RawMessage
		Method string
		Params struct{ Message string }
	}
	if err := json.Unmarshal([]byte(hear()), &asked); err != nil || asked.Method != "elicitation/create" || !strings.Contains(asked.Params.Message, "rm x") {
		t.Fatalf("%+v, %v", asked, err)
	}
	say(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"action":"accept","content":{"decision":"allow once"}}}`)
	if got := hear(); !strings.Contains(got, "asked") {
		t.Errorf("answered %s", got)
	}
	if a, _ := q.said.Load().(policy.Answer); a.Choice != policy.Once || a.How != policy.ByElicitation || a.By != "local at t/1" {
		t.Errorf("the runner heard %+v", a)
	}
}

func TestARunnerChecksScopesAndToolsAgain(t *testing.T) {
	_, o := newLasting(t, 0)
	back := NewServer(o)
	carry := func(tool, front string) *tipstaff.Error {
		_, err := back.Carry(t.Context(), rpc.Call{ID: "cmd_x", Tool: tool, Principal: "ann", Arguments: json.RawMessage(`{"command":"x","command_id":"y"}`), Front: json.RawMessage(front)}, &waiter{})
		return tipstaff.AsError(err)
	}
	if e := carry("execute_command", `{"front":"http","scopes":["read"]}`); e.Code != tipstaff.ScopeMissing {
		t.Errorf("without the scope: %+v", e)
	}
	if e := carry("stop_command", `{"front":"http","scopes":["execute"]}`); e.Code != tipstaff.InvalidParameters || !strings.Contains(e.Msg, `no tool "stop_command"`) {
		t.Errorf("a tool that it does not offer: %+v", e)
	}
	if e := carry("execute_command", `nonsense`); e.Code != tipstaff.Internal {
		t.Errorf("what cannot be read: %+v", e)
	}
}

func TestProgressComesAcrossTheSeam(t *testing.T) {
	t.Parallel()
	sides(t, func(t *testing.T, l *lasting, o Options) {
		heard := make(chan string, 10)
		say, hear, _ := lines(t, o)
		say(fmt.Sprintf(initialize, "2025-11-25"))
		hear()
		say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_command","arguments":{"command":"x"},"_meta":{"progressToken":7}}}`)
		go func() {
			got := hear()
			for strings.Contains(got, `"message":"waiting for its turn`) { // on a busy machine
				got = hear()
			}
			heard <- got
		}()
		if got := <-heard; !strings.Contains(got, "notifications/progress") || !strings.Contains(got, `"message":"running: x`) {
			t.Errorf("told %s", got)
		}
		l.ends <- 0
		hear()
	})
}

// notes is a carrier that notes the calls that go over it.
type notes struct {
	asIs

	calls []rpc.Call
}

func (n *notes) Carry(ctx context.Context, c rpc.Call, at rpc.Caller) ([]byte, error) {
	n.calls = append(n.calls, c)
	return n.asIs.Carry(ctx, c, at)
}

func TestASessionChoosesItsRunnerByLabelsOnlyWhereThereAreRunners(t *testing.T) {
	_, o := newLasting(t, 4)
	create := map[string]any{"taskId": "T", "agentId": "a", "runner": " pool=gpu, disk=fast"}
	alone := connect(t, o)
	if text, failed := calling(t, alone, "terminal_create_session", create); !failed || !strings.Contains(text, `\"runner\" is of no use here: this server is one machine`) {
		t.Errorf("on one machine: %s", text)
	}
	if text, failed := calling(t, alone, "terminal_create_session", map[string]any{"taskId": "T", "agentId": "a", "runner": nil}); failed {
		t.Errorf("on one machine, null: %s", text)
	}
	if text, _ := calling(t, alone, "terminal_create_session", map[string]any{"x": 1}); !strings.Contains(text, `It takes: taskId, agentId, workingDirectory, environment."`) {
		t.Errorf("what one machine takes: %s", text)
	}

	o.Self = "r1.00000000000000aa"
	back := NewServer(o)
	n := &notes{asIs: asIs{back}}
	g := &gatewayRoad{}
	offers := back.offers
	offers.Fleet = true
	gate := connect(t, Options{Version: "1", Monitor: g, Log: slog.New(slog.DiscardHandler), Instructions: o.Instructions, Remote: &Remote{Offers: offers, Carrier: n, Gate: g}})
	if text, failed := calling(t, gate, "terminal_create_session", create); failed {
		t.Fatal(text)
	}
	if got := fmt.Sprint(n.calls[0].Labels); got != "map[disk:fast pool:gpu]" || !n.calls[0].Opens {
		t.Errorf("labels %s", got)
	}
	if text, failed := calling(t, gate, "terminal_create_session", map[string]any{"taskId": "T", "agentId": "a", "runner": "gpu"}); !failed || !strings.Contains(text, `is no label: a label is NAME=VALUE`) {
		t.Errorf("what is no label: %s", text)
	}
	properties := func(cs *mcp.ClientSession) map[string]any {
		tools, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools.Tools {
			if tool.Name == "terminal_create_session" {
				schema, _ := tool.InputSchema.(map[string]any)
				props, _ := schema["properties"].(map[string]any)
				return props
			}
		}
		return nil
	}
	before, with := properties(alone), properties(gate)
	if with["runner"] == nil || before["runner"] != nil || len(with) != len(before)+1 {
		t.Errorf("declared on one machine: %v\nby a gateway: %v", before, with)
	}
}

// asksAll is a carrier whose runner ends every call with a question.
type asksAll struct{}

func (asksAll) Carry(context.Context, rpc.Call, rpc.Caller) ([]byte, error) {
	return nil, handOver(policy.Question{Handle: "apr_x", Expires: time.Now().Add(time.Hour)}, "r1.00000000000000aa")
}

func TestARunnerThatAsksWhereNobodyCanBeAskedGetsNoQuestionThrough(t *testing.T) {
	_, o := newLasting(t, 4)
	g := &gatewayRoad{}
	cs := connect(t, Options{
		Version: "1", Monitor: g, Log: slog.New(slog.DiscardHandler), Instructions: o.Instructions, Approvals: &Approvals{},
		Remote: &Remote{Offers: Offers{Sessions: true}, Carrier: asksAll{}, Gate: g},
	})
	for tool, args := range map[string]map[string]any{
		"execute_command": {"command": "x"}, "terminal_create_session": {"taskId": "T", "agentId": "a"},
	} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || !res.IsError || res.InputRequests != nil || g.again != 0 || strings.Contains(textOf(t, res), string(askedLater)) {
			t.Errorf("%s: %+v, %v; permitted again %d times", tool, res, err, g.again)
		}
	}
}
