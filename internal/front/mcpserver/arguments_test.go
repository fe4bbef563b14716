package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"tipstaff"
)

var everyKind = []parameter{
	{name: "command", kind: text, required: true},
	{name: "args", kind: texts},
	{name: "timeout_ms", kind: millis},
	{name: "environment", kind: variables},
	{name: "cwd", kind: text},
	{name: "input", kind: text},
}

func TestT1AWrongArgumentIsNamedAndWhatIsExpectedIsSaid(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want       []string // all of them in the message or hint
	}{
		{"nothing at all", ``, []string{`"command" is missing`, "a string"}},
		{"an empty object", `{}`, []string{`"command" is missing`}},
		{"null for a required one", `{"command": null}`, []string{`"command" is missing`}},
		{"a list instead of an object", `[1]`, []string{"one JSON object", "a list"}},
		{"a number for a string", `{"command": 5}`, []string{`"command" must be a string`, "a number"}},
		{"a string for a list", `{"command": "x", "args": "a b"}`, []string{`"args" must be a list of strings`, "a string"}},
		{"an object for a list", `{"command": "x", "args": {"0": "a"}}`, []string{`"args" must be a list of strings`, "an object"}},
		{"null in a list", `{"command": "x", "args": ["a", null]}`, []string{"item 1 is null"}},
		{"a number in a list", `{"command": "x", "args": [5]}`, []string{"item 0 is a number"}},
		{"zero milliseconds", `{"command": "x", "timeout_ms": 0}`, []string{`"timeout_ms" must be a positive whole number`, "0 is not"}},
		{"negative milliseconds", `{"command": "x", "timeout_ms": -5}`, []string{"-5 is not"}},
		{"a fraction of a millisecond", `{"command": "x", "timeout_ms": 1.5}`, []string{"1.5 is not"}},
		{"milliseconds in words", `{"command": "x", "timeout_ms": "500"}`, []string{"positive whole number", "a string"}},
		{"milliseconds as a truth", `{"command": "x", "timeout_ms": true}`, []string{"positive whole number", "true or false"}},
		{"more milliseconds than there are", `{"command": "x", "timeout_ms": 1e300}`, []string{"1e300", "longer than any command"}},
		{"an unknown argument", `{"command": "x", "shell": true}`, []string{`"shell" is not known`, "command, args"}},
		{"another spelling", `{"command": "x", "timeoutMs": 5}`, []string{`Did you mean "timeout_ms"?`}},
		{"an argument twice", `{"command": "x", "command": "y"}`, []string{`"command" is given twice`}},
		{"a variable that is a number", `{"command": "x", "environment": {"A": 1}}`, []string{`"A" is a number`}},
		{"a variable without a name", `{"command": "x", "environment": {"": "1"}}`, []string{"has no name"}},
		{"a variable with = in its name", `{"command": "x", "environment": {"A=B": "1"}}`, []string{"characters that are not allowed"}},
		{"half of a surrogate pair", `{"command": "a\ud800"}`, []string{"not valid Unicode"}},
		{"the wrong half of a pair", `{"command": "\udc00 \\ud800"}`, []string{"not valid Unicode"}},
		{"bytes that are no UTF-8", "{\"command\": \"\xff\"}", []string{"not valid Unicode"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(everyKind, json.RawMessage(c.args))
			if err == nil {
				t.Fatal("it was accepted")
			}
			e := tipstaff.AsError(err)
			if e.Code != tipstaff.InvalidParameters {
				t.Errorf("code %s", e.Code)
			}
			for _, w := range c.want {
				if !strings.Contains(e.Msg+" "+e.Hint, w) {
					t.Errorf("%q does not say %q", e.Msg+" "+e.Hint, w)
				}
			}
		})
	}
}

func TestArgumentsArriveAsTheyWereSent(t *testing.T) {
	a, err := parse(everyKind, json.RawMessage(`{"command": "\ud83d\ude00 \\ud800 \u0000", "args": ["", "a\tb"],
		"timeout_ms": 1.5e3, "environment": {"B": "2", "A": ""}, "cwd": null, "input": ""}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.text["command"]; got != "😀 \\ud800 \x00" {
		t.Errorf("command %q", got)
	}
	if got := a.texts["args"]; len(got) != 2 || got[0] != "" || got[1] != "a\tb" {
		t.Errorf("args %q", got)
	}
	if got := a.millis["timeout_ms"].Milliseconds(); got != 1500 {
		t.Errorf("timeout %d ms", got)
	}
	if got := a.vars["environment"]; len(got) != 2 || got[0] != "B=2" || got[1] != "A=" {
		t.Errorf("environment %q", got)
	}
	if _, given := a.given("cwd"); given {
		t.Error("null counts as given")
	}
	if in := a.input(); in == nil || len(in) != 0 {
		t.Errorf("an empty input became %#v", in)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"command":"x","args":["a"],"timeout_ms":5,"environment":{"A":"b"}}`))
	f.Add([]byte(`{"command":"\ud800\udc00"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := parse(everyKind, raw)
		if err != nil {
			if tipstaff.AsError(err).Code != tipstaff.InvalidParameters {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		var plain struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		}
		if err := json.Unmarshal(raw, &plain); err == nil && plain.Command != a.text["command"] {
			t.Errorf("command %q, want %q", a.text["command"], plain.Command)
		}
	})
}
