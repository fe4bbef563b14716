package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tipstaff"
)

// runParams are params that make a server run a command.
const runParams = `"name":"execute_command","arguments":{"command":"echo"}`

// ambiguous are messages that two programs would read differently, each with what its
// answer has in it.
var ambiguous = []struct{ what, message, answer string }{
	{"an id above 2⁵³", `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{` + runParams + `}}`, `"id":9007199254740993`},
	{"an id below −2⁵³", `{"jsonrpc":"2.0","id":-9007199254740993,"method":"tools/call","params":{` + runParams + `}}`, `"id":-9007199254740993`},
	{"an id of thirty digits", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"tools/call","params":{` + runParams + `}}`, `"id":123456789012345678901234567890`},
	{"an id that loses its sign", `{"jsonrpc":"2.0","id":-0,"method":"tools/call","params":{` + runParams + `}}`, `"id":-0`},
	{"an id with half of a character", `{"jsonrpc":"2.0","id":"\ud800","method":"tools/call","params":{` + runParams + `}}`, `"id":null`},
	{"two ids", `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{` + runParams + `}}`, `"id":null`},
	{"two ids, one of them in disguise", `{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"tools/call","params":{` + runParams + `}}`, `"id":null`},
	{"two methods", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{` + runParams + `}}`, `"id":1`},
	{"params twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{` + runParams + `}}`, `"id":1`},
	{"two names", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + runParams + `}}`, `"id":1`},
	{"arguments twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"command":"ls"},` + runParams + `}}`, `\"arguments\" occurs twice`},
	{"_meta twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{},"_meta":{},` + runParams + `}}`, `\"_meta\" occurs twice`},
	{"a token twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1,"progressToken":2},` + runParams + `}}`, `\"progressToken\" occurs twice`},
	{"a token above 2⁵³", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":9007199254740993},` + runParams + `}}`, `"code":-32602`},
	{"two names that are one without their broken bytes", "{\"jsonrpc\":\"2.0\",\"id\":1,\"\x87\":1,\"\x88\":1,\"method\":\"tools/call\",\"params\":{" + runParams + "}}", `occurs twice`},
	{"an answer of two minds", `{"jsonrpc":"2.0","id":1,"result":{"action":"decline","content":{"a":1,"a":2}}}`, `\"a\" occurs twice`},
	{"no method", `{"jsonrpc":"2.0","id":1}`, `"id":1`},
	{"no method, with params", `{"jsonrpc":"2.0","id":"x","params":{` + runParams + `}}`, `"id":"x"`},
	{"a method that is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, `"id":1`},
	{"objects with thousands of members in all", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"a":{` + many(600) + `"z":1},"b":{` + many(600) + `"z":1}},` + runParams + `}}`, `more than 1000 members`},
	{"an object with thousands of members", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + many(2000) + runParams + `}}`, `more than 1000 members`},
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":1,`, i)
	}
	return b.String()
}

// counting returns a monitor that counts what it runs.
func counting() (r *fakeMonitor, ran *int) {
	ran = new(int)
	return &fakeMonitor{execute: func(context.Context, tipstaff.Request) (tipstaff.Result, error) {
		*ran++
		return exited(0, "", ""), nil
	}}, ran
}

func TestT1AMessageThatCouldBeReadInTwoWaysIsRefusedUnderItsId(t *testing.T) {
	t.Run("over stdio", func(t *testing.T) {
		for _, c := range ambiguous {
			p := newPeer(t)
			p.say(c.message, fmt.Sprintf(ping, 7))
			next := make(chan any, 1)
			go func() { next <- p.next().ID.Raw() }()
			if got := p.hear(); !strings.Contains(got, `"code":-32`) || !strings.Contains(got, c.answer) {
				t.Errorf("%s: %s", c.what, got)
			}
			if id := within(t, "the next message", next); id != int64(7) {
				t.Errorf("%s was let through: %v", c.what, id)
			}
		}
	})
	t.Run("over HTTP", func(t *testing.T) {
		r, ran := counting()
		w := serveWeb(t, r.options(), webOptions())
		c := as("a")
		session := w.begin(c)
		for _, x := range ambiguous {
			got := w.send(c, "POST", x.message, sessionHeader, session)
			if got.status != 400 || !strings.Contains(got.body, `"code":-32`) || !strings.Contains(got.body, x.answer) {
				t.Errorf("%s: %d %s", x.what, got.status, got.body)
			}
		}
		if *ran != 0 {
			t.Errorf("%d commands have run", *ran)
		}
		// Control: what is nearly the same passes, with its id as it came.
		for id, body := range map[string]string{
			`"id":9007199254740991`:   `{"jsonrpc":"2.0","id":9007199254740991,"method":"tools/call","params":{` + runParams + `}}`,
			`"id":"9007199254740993"`: `{"jsonrpc":"2.0","id":"9007199254740993","method":"tools/call","params":{"_meta":{"name":1},` + runParams + `}}`,
		} {
			if got := w.send(c, "POST", body, sessionHeader, session); got.status != 200 || !strings.Contains(got.body, id) {
				t.Errorf("%s: %d %s", body, got.status, got.body)
			}
		}
		if *ran != 2 {
			t.Errorf("%d of two commands have run", *ran)
		}
	})
}

func TestACancellationByAnIdThatNoCallHasEndsNone(t *testing.T) {
	r, begun, ended := blocking()
	w := serveWeb(t, r.options(), webOptions())
	c := as("alice")
	session := w.begin(c)
	resp := w.open(t.Context(), c, "POST", callBody(1, "execute_command", echo), sessionHeader, session, versionHeader, lastStateful)
	defer func() { _ = resp.Body.Close() }()
	within(t, "the command begins", begun)
	cancel := func(id string) {
		if got := w.send(c, "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, sessionHeader, session); got.status != 202 {
			t.Errorf("%s: %d %s", id, got.status, got.body)
		}
	}
	cancel("1.5") // the library would make 1 of it
	if got := w.send(c, "POST", fmt.Sprintf(ping, 2), sessionHeader, session); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	select {
	case why := <-ended:
		t.Fatalf("the command was ended: %v", why)
	default:
	}
	cancel("1") // control
	within(t, "the command is ended", ended)
}

func TestOnlyTheCallThatACancellationNamesIsNotAnswered(t *testing.T) {
	for _, c := range []struct {
		what, params string
		answered     bool
	}{
		{"control", `{"requestId":"a"}`, false},
		{"the same id, written otherwise", `{"requestId":"\u0061"}`, false},
		{"a name in other capitals behind the one that counts", `{"requestId":"b","RequestId":"a"}`, true},
	} {
		r, begun, finish := untilTold("the answer")
		w := serveWeb(t, r.options(), webOptions())
		alice := as("alice")
		in := []string{sessionHeader, w.begin(alice), versionHeader, lastStateful}
		posted := w.open(t.Context(), alice, "POST", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{`+runParams+`}}`, in...)
		within(t, "the command begins", begun)
		if got := w.send(alice, "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":`+c.params+`}`, in...); got.status != 202 {
			t.Errorf("%s: %d %s", c.what, got.status, got.body)
		}
		close(finish)
		if got := within(t, "the stream ends", ends(posted.Body)); strings.Contains(got, `"id":"a"`) != c.answered {
			t.Errorf("%s: %q", c.what, got)
		}
		_ = posted.Body.Close()
	}
}
