package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/audit/events"
)

// telling is a server whose monitor publishes the events that the trail would
// publish.
func telling(t *testing.T) (say func(string), hear func() string, b *events.Bus, calls chan string) {
	t.Helper()
	b, calls = &events.Bus{}, make(chan string, 100)
	r := &fakeMonitor{execute: func(_ context.Context, req tipstaff.Request) (tipstaff.Result, error) {
		calls <- req.Origin.Call
		publish(b, "terminal:command:executed", req.Origin.Call)
		return exited(0, "", ""), nil
	}}
	o := r.options()
	o.Events = b
	say, hear, _ = lines(t, o)
	return say, hear, b, calls
}

func publish(b *events.Bus, name, call string) {
	b.Publish(events.Event{Kind: events.Record, Seq: 1, Data: fmt.Appendf(nil,
		`{"v":1,"seq":1,"event":"command.end","name":%q,"who":{"session":"term-1","call":%q},"trace":{"command_id":"cmd_1"},"result":{"cause":"exited","exit_code":3,"duration_ms":7}}`, name, call)})
}

const echoCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_command","arguments":{"command":"echo x"}%s}}`

func TestB14AClientThatAsksIsToldOfItsOwnEventsAtItsLevel(t *testing.T) {
	say, hear, b, calls := telling(t)
	say(fmt.Sprintf(initialize, "2025-11-25"))
	if got := hear(); !strings.Contains(got, `"logging":{}`) {
		t.Errorf("it is not declared: %s", got)
	}
	say(fmt.Sprintf(echoCall, 1, ""))
	if got := hear(); !strings.Contains(got, `"id":1`) {
		t.Errorf("it was told without having asked: %s", got)
	}
	say(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"loud"}}`)
	if got := hear(); !strings.Contains(got, "-32602") || !strings.Contains(got, "emergency") {
		t.Errorf("the level was taken: %s", got)
	}
	say(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"info"}}`)
	hear()
	publish(b, "terminal:command:executed", "somebody/1")
	say(fmt.Sprintf(echoCall, 4, ""))
	<-calls
	both := hear() + hear()
	for _, want := range []string{`"id":4`, `"method":"notifications/message"`, `"level":"info"`, `"logger":"tipstaff"`,
		`{"name":"terminal:command:executed","session":"term-1","command_id":"cmd_1","exit_code":3,"duration_ms":7}`} {
		if !strings.Contains(both, want) {
			t.Errorf("no %s in %s", want, both)
		}
	}
	mine := <-calls
	say(`{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"warning"}}`)
	hear()
	publish(b, "terminal:command:executed", mine)
	publish(b, "terminal:security:violation", mine)
	if got := hear(); !strings.Contains(got, "violation") || !strings.Contains(got, `"level":"warning"`) {
		t.Errorf("at the level warning came %s", got)
	}
}

func TestB14AStatelessClientIsToldWithTheCallThatAsked(t *testing.T) {
	say, hear, _, calls := telling(t)
	meta := `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}%s}`
	say(fmt.Sprintf(echoCall, 1, fmt.Sprintf(meta, "")))
	if got := hear(); !strings.Contains(got, `"id":1`) {
		t.Errorf("it was told without having asked: %s", got)
	}
	<-calls
	say(fmt.Sprintf(echoCall, 2, fmt.Sprintf(meta, `,"io.modelcontextprotocol/logLevel":"info"`)))
	if got := hear(); !strings.Contains(got, "notifications/message") || !strings.Contains(got, `"exit_code":3`) {
		t.Errorf("first came %s", got)
	}
	if got := hear(); !strings.Contains(got, `"id":2`) {
		t.Errorf("then came %s", got)
	}
	say(`{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{` + fmt.Sprintf(meta, "")[1:] + `}}`)
	if got := hear(); !strings.Contains(got, `"logging":{}`) {
		t.Errorf("it is not declared: %s", got)
	}
}

// TestB14AClientThatDoesNotReadHoldsUpNoCommand: its events are lost instead.
func TestB14AClientThatDoesNotReadHoldsUpNoCommand(t *testing.T) {
	say, hear, b, calls := telling(t)
	say(fmt.Sprintf(initialize, "2025-11-25"))
	hear()
	say(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`)
	hear()
	say(fmt.Sprintf(echoCall, 2, ""))
	mine := <-calls // from here on the events are not read
	for range 10_000 {
		publish(b, "terminal:command:executed", mine)
	}
	say(fmt.Sprintf(echoCall, 3, ""))
	<-calls // it has run
	told := 0
	for answered := 0; answered < 2 || told == 0; {
		switch got := hear(); {
		case strings.Contains(got, `"lost":`):
			told++
		case strings.Contains(got, `"result":{"content"`):
			answered++
		case got == "":
			t.Fatal("the server has left")
		}
	}
}

func TestWithoutABusLoggingIsNotOffered(t *testing.T) {
	say, hear, _ := lines(t, (&fakeMonitor{}).options())
	say(fmt.Sprintf(initialize, "2025-11-25"))
	if got := hear(); strings.Contains(got, "logging") {
		t.Errorf("it is offered: %s", got)
	}
}
