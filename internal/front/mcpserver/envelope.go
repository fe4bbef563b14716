package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"tipstaff/internal/strictjson"
)

// envelope is the outer part of one message. The library takes the last of two
// members with one name, and rounds numbers; what was judged could then be another
// message than the one that is carried out, or be answered under another id. So
// whatever it would change is refused before it sees it.
type envelope struct {
	ID     json.RawMessage // as it is written; nil: none, or null
	Method string
	Params json.RawMessage

	kind messageKind
}

type messageKind int

const (
	isAnswer messageKind = iota
	isRequest
	isNotice
)

// fault is why a message is refused.
type fault struct {
	id   json.RawMessage // of the message, as it is written; nil: it cannot be told
	code int
	text string
}

func (f *fault) reply() []byte { return failureOf(f.id, f.code, f.text) }

// readEnvelope reads the outer part of a message. data is valid JSON.
func readEnvelope(data []byte) (m envelope, _ *fault) {
	outer, err := membersOf(data)
	refuse := func(format string, args ...any) *fault {
		return &fault{m.ID, jsonrpc.CodeInvalidRequest, "invalid request: " + fmt.Sprintf(format, args...)}
	}
	if outer == nil {
		return m, refuse("this is not a JSON-RPC 2.0 message")
	}
	if twice, is := errors.AsType[*strictjson.RepeatedError](err); is && twice.Name == "id" {
		return m, refuse("%v", err)
	}
	if id := strictjson.ValueOf(outer, "id"); id != nil && !isNull(id) {
		m.ID = echoed(id)
		if why := exactID(id); why != "" {
			return m, refuse("an id %s", why)
		}
	}
	if err == nil {
		left := mostMembers
		err = wholeObjects(outer, repeatDepth, &left)
	}
	if err != nil {
		return m, refuse("%v", err)
	}
	if !bytes.Equal(strictjson.ValueOf(outer, "jsonrpc"), []byte(`"2.0"`)) {
		return m, refuse(`this is not a JSON-RPC 2.0 message: it needs "jsonrpc": "2.0"`)
	}
	method := strictjson.ValueOf(outer, "method")
	switch {
	case method == nil && strictjson.ValueOf(outer, "result") == nil && strictjson.ValueOf(outer, "error") == nil:
		return m, refuse("there is no method; a request or a notification needs one, and an answer has a result or an error")
	case method == nil:
		return m, nil
	case isNull(method) || strictjson.Unmarshal(method, &m.Method) != nil:
		return m, refuse("the method must be a string")
	}
	m.Params, m.kind = strictjson.ValueOf(outer, "params"), isNotice
	if m.ID != nil {
		m.kind = isRequest
	}
	return m, m.misfit(refuse)
}

// misfit says why a request or a notification is none of the protocol.
func (m envelope) misfit(refuse func(string, ...any) *fault) *fault {
	switch {
	case m.kind == isNotice && !isNotification(m.Method):
		return refuse("method %.100q needs an id that is a string or a whole number", m.Method)
	case m.kind == isRequest && isNotification(m.Method):
		return refuse("%.100q is a notification, which has no id", m.Method)
	case m.kind != isRequest:
		return nil
	}
	token := inside(m.Params, "_meta", "progressToken")
	if token == nil || isNull(token) {
		return nil
	}
	if why := exactID(token); why != "" {
		f := refuse("a progressToken %s", why)
		f.code = jsonrpc.CodeInvalidParams
		return f
	}
	return nil
}

// inside returns a value within objects, nil if there is none.
func inside(data json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		members, _ := membersOf(data) // they have been looked at
		data = strictjson.ValueOf(members, name)
	}
	return data
}

// text returns a string among the params, "" if there is none. encoding/json would take
// a name in other capitals for it; the library does not.
func (m envelope) text(name string) string {
	var text string
	_ = strictjson.Unmarshal(inside(m.Params, name), &text) // what is no string is no such text
	return text
}

// sameID returns one text for each way to write an id.
func sameID(id json.RawMessage) string {
	if len(id) > 0 && id[0] == '"' {
		return `"` + strictjson.Text(id)
	}
	return string(id)
}

// ignored reports whether a notification has no effect: one that this server does
// not know, and one that cancels a call by an id that no call can have.
func (m envelope) ignored() bool {
	if m.kind != isNotice {
		return false
	}
	if m.Method == cancelledMethod {
		id := inside(m.Params, "requestId")
		return id == nil || exactID(id) != ""
	}
	return !slices.Contains(notifications, m.Method)
}

const cancelledMethod = "notifications/cancelled"

// notifications are those of clients that the library knows. The protocol lets a
// receiver ignore the others.
var notifications = []string{cancelledMethod, "notifications/initialized", "notifications/progress", "notifications/roots/list_changed"}

// largestExact is the largest number of which every program knows the neighbours: most
// read numbers as IEEE 754 doubles (RFC 8259, section 6).
const largestExact = 1<<53 - 1

// exactID says why an id or a token could be another one after it was read; "" if it
// could not.
func exactID(id json.RawMessage) string {
	if id[0] == '"' {
		if wellFormed(id) != nil {
			return "must be valid Unicode"
		}
		return ""
	}
	var n int64
	switch {
	case strictjson.Unmarshal(id, &n) == nil && -largestExact <= n && n <= largestExact && string(id) != "-0": // whose sign would be lost
		return ""
	case jsonType(id) == "a number" && !bytes.ContainsAny(id, ".eE"):
		return fmt.Sprintf("that is a number is at most %d, because larger ones are rounded by many programs; send it as a string", largestExact)
	}
	return "must be a string or a whole number"
}

// echoed is an id as the answer has it: as it is written; nil where it is none at all.
func echoed(id json.RawMessage) json.RawMessage {
	const longestNumber = 100
	if id[0] == '"' && wellFormed(id) == nil || jsonType(id) == "a number" && len(id) <= longestNumber {
		return id
	}
	return nil
}
