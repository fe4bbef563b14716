package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// costly are messages whose reading would take long if anything were read again for each
// member, name or depth. n is about their length in bytes.
var costly = map[string]func(n int) string{
	"one text": func(n int) string { return callWith(`{"command":"` + strings.Repeat("x", n) + `"}`) },
	"a text of escapes": func(n int) string {
		return callWith(`{"command":"` + strings.Repeat(`\"`, n/2) + `"}`)
	},
	"a long id": func(n int) string { return `{"jsonrpc":"2.0","method":"ping","id":"` + strings.Repeat("x", n) + `"}` },
	"a long id, escaped": func(n int) string {
		return `{"jsonrpc":"2.0","method":"ping","id":"` + strings.Repeat(`\n`, n/2) + `"}`
	},
	"a long number": func(n int) string { return callWith(`{"command":` + strings.Repeat("1", n) + `}`) },
	"blanks":        func(n int) string { return callWith(strings.Repeat(" ", n) + "{}") },
	"many numbers":  func(n int) string { return callWith(`[` + strings.Repeat("1,", n/2) + `1]`) },
	"many texts":    func(n int) string { return callWith(`["` + strings.Repeat(`","`, n/3) + `"]`) },
	"many objects":  func(n int) string { return callWith(`[` + strings.Repeat(`{},`, n/3) + `{}]`) },
	"many members": func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + many(n/12) + `"z":1}}`
	},
	"long names": func(n int) string {
		var b strings.Builder
		for i := range 900 {
			fmt.Fprintf(&b, `"%0*d":1,`, n/900, i)
		}
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + b.String() + `"z":1}}`
	},
	"objects within objects": func(n int) string {
		inner := `{"x":"` + strings.Repeat("x", n) + `"}`
		for range 50 {
			inner = `{` + many(900) + `"z":` + inner + `}`
		}
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + inner + `}`
	},
	"objects beside objects": func(n int) string {
		var b strings.Builder
		for i := range 900 {
			fmt.Fprintf(&b, `"m%d":{%s"z":1},`, i, many(n/900/11))
		}
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + b.String() + `"z":1}}`
	},
	"depth": func(n int) string {
		const deepest = 9000 // encoding/json takes 10000
		part := strings.Repeat("[", deepest) + strings.Repeat("]", deepest)
		return callWith(`[` + strings.Repeat(part+",", max(1, n/len(part))) + `1]`)
	},
}

func callWith(arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_command","arguments":` + arguments + `}}`
}

// TestT7TheEnvelopeOfALargeMessageCostsNoMoreThanItsJSON compares with encoding/json's
// check of the same text, which each message has in any case, so that a busy machine slows
// both.
func TestT7TheEnvelopeOfALargeMessageCostsNoMoreThanItsJSON(t *testing.T) {
	const size = 2 << 20
	const most = 20 // measured: about 2, and hundreds where anything is read again
	for name, message := range costly {
		text := []byte(message(size))
		if len(text) < size/2 || len(text) > maxLine {
			t.Fatalf("%s has %d bytes", name, len(text))
		}
		check, read := time.Hour, time.Hour
		for try := 0; try < 2 || try < 10 && read > most*check; try++ {
			began := time.Now()
			if !json.Valid(text) {
				t.Fatalf("%s is no JSON", name)
			}
			check = min(check, time.Since(began))
			began = time.Now()
			m, _ := readEnvelope(text)
			m.ignored()
			m.text("name")
			read = min(read, time.Since(began))
		}
		t.Logf("%s: %d bytes, JSON %v, envelope %v", name, len(text), check, read)
		if read > most*check {
			t.Errorf("%s: the envelope takes %v, the JSON %v", name, read, check)
		}
	}
}

// FuzzEnvelope compares what was judged with what the library carries out.
func FuzzEnvelope(f *testing.F) {
	for _, c := range ambiguous {
		f.Add([]byte(c.message))
	}
	for _, text := range []string{
		fmt.Sprintf(ping, 7), callBody(1, "execute_command", echo), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a\u0062"}}`,
		`{"jsonrpc":"2.0","id":"\u0061","result":{}}`, ` { "ID":1,"id" : -0 ,"jsonrpc":"2.0","Method":"x","method":"ping" } `, `{"jsonrpc":"2.0","id":9007199254740991,"method":"\u0070ing","params":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(sameForTheLibrary)
}

func sameForTheLibrary(t *testing.T, data []byte) {
	if !json.Valid(data) {
		return
	}
	m, fault := readEnvelope(data)
	if fault != nil {
		if reply := fault.reply(); !json.Valid(reply) {
			t.Errorf("%q is answered with %q", data, reply)
		}
		return
	}
	library(t, data, m)
	var decoded map[string]json.RawMessage
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatalf("%q passes: %v", data, err)
	}
	members, _ := membersOf(data)
	for _, member := range members {
		if want := decoded[member.Name]; string(want) != string(member.Value) {
			t.Errorf("%q: %q is %q, and %q for encoding/json", data, member.Name, member.Value, want)
		}
	}
	if len(members) != len(decoded) {
		t.Errorf("%q: %d members, and %d for encoding/json", data, len(members), len(decoded))
	}
}

// library fails the test if the library reads another message.
func library(t *testing.T, data []byte, m envelope) {
	t.Helper()
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return // it is refused there
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		if m.kind != isAnswer {
			t.Errorf("%q is an answer for the library", data)
		}
		return
	}
	if m.kind == isAnswer || req.Method != m.Method || req.IsCall() != (m.kind == isRequest) || string(req.Params) != string(m.Params) {
		t.Errorf("%q is %q %q for the library, and %q %q was judged", data, req.Method, req.Params, m.Method, m.Params)
	}
	if m.kind != isRequest {
		return
	}
	var want any
	if json.Unmarshal(m.ID, &want) != nil {
		t.Fatalf("%q has the id %q", data, m.ID)
	}
	if id, err := jsonrpc.MakeID(want); err != nil || id != req.ID {
		t.Errorf("%q has the id %v for the library, and %q was judged", data, req.ID.Raw(), m.ID)
	}
}
