package strictjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tipstaff/internal/strictjson"
)

type inner struct {
	Command string            `json:"command"`
	Vars    map[string]string `json:"vars"`
	Raw     json.RawMessage   `json:"raw"`
}

type outer struct {
	Name  string   `json:"name,omitempty"`
	Input inner    `json:"input"`
	List  []*inner `json:"list"`
	Any   any      `json:"any"`
	Plain string
	Skip  string `json:"-"`
	inner2
}

type inner2 struct {
	Deep string `json:"deep"`
}

// TestTwoReadersCannotReadItDifferently: each of these texts names a member that
// encoding/json takes, and that a reader with another rule does not.
func TestTwoReadersCannotReadItDifferently(t *testing.T) {
	for _, text := range []string{
		`{"name": "a", "name": "b"}`,
		`{"name": "a", "Name": "b"}`,
		`{"NAME": "b"}`,
		`{"input": {"command": "evil", "Command": "ls"}}`,
		`{"input": {"Command": "ls"}}`,
		`{"input": {"\u0043ommand": "ls"}}`,
		`{"Input": {"command": "ls"}}`,
		`{"list": [{"command": "a"}, {"command": "a", "COMMAND": "b"}]}`,
		`{"input": {"vars": {"A": "1", "A": "2"}}}`,
		`{"any": {"a": [{"b": 1, "b": 2}]}}`,
		`{"plain": "x"}`,
		`{"Deep": "x"}`,
		`{"liſt": []}`,
	} {
		var v outer
		err := strictjson.Unmarshal([]byte(text), &v)
		var repeated *strictjson.RepeatedError
		if !errors.As(err, &repeated) {
			t.Errorf("%s: %v, decoded as %+v", text, err, v)
		}
		if err := json.Unmarshal([]byte(text), &outer{}); err != nil {
			t.Errorf("the control: encoding/json refuses %s: %v", text, err)
		}
	}
}

func TestWhatIsSaidOnceDecodes(t *testing.T) {
	text := `{"name": "n", "Plain": "p", "deep": "d", "skip": 1, "Skip": 2, "other": {"x": 1, "x": 2}, "any": {"y": 1, "Y": 2},
		"input": {"command": "ls", "vars": {"path": "1", "PATH": "2"}, "raw": {"a": 1, "a": 2}}, "list": [{"command": "x"}, null]}`
	var got, want outer
	if err := strictjson.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(got)
	two, _ := json.Marshal(want)
	if string(one) != string(two) || got.Deep != "d" || got.List[0].Command != "x" {
		t.Errorf("%s, want %s", one, two)
	}
	var list []int
	if err := strictjson.Unmarshal([]byte(`[1, 2]`), &list); err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
	for _, text := range []string{"", "{", `{"name": 1}`, "{} {}"} {
		if err := strictjson.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%q decodes", text)
		}
	}
}

// TestWhatNobodyReadsCostsNothing: a text of many MiB, nested deep, is passed over once.
func TestWhatNobodyReadsCostsNothing(t *testing.T) {
	nested := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	var all []json.RawMessage
	if err := strictjson.Unmarshal([]byte("["+nested+"]"), &all); err != nil || len(all) != 1 {
		t.Errorf("%d, %v", len(all), err)
	}
	var v any
	if err := strictjson.Unmarshal([]byte(nested), &v); err == nil {
		t.Error("what somebody reads may be nested without a bound")
	}
}
