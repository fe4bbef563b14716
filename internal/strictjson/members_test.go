package strictjson

import (
	"strings"
	"testing"
)

func TestMembersAreThoseThatADecoderFinds(t *testing.T) {
	all, err := Members([]byte(" {\"a\" : 1.5e3 ,\"b\":[{\"x\":\"]}\\\"\"}],\n\"c\\u0064\":{\"a\":null}, \"\":true,\"e\":\"\\\\\"}"), 10)
	var got []string
	for _, m := range all {
		got = append(got, m.Name+"="+string(m.Value))
	}
	want := `a=1.5e3|b=[{"x":"]}\""}]|cd={"a":null}|=true|e="\\"`
	if err != nil || strings.Join(got, "|") != want {
		t.Errorf("%s, %v", strings.Join(got, "|"), err)
	}
	for n := range 200 { // plain text, escapes and ends at every place
		for _, tail := range []string{``, `\"`, `\\`, `\"x\\`, `\\\"` + strings.Repeat("y", 100) + `\"`} {
			text := `"` + strings.Repeat("x", n) + tail + `"`
			if got := stringLength([]byte(text + `,"z\""`)); got != len(text) {
				t.Errorf("%s ends after %d of %d bytes", text, got, len(text))
			}
		}
	}
	for _, none := range []string{"", "5", "[]", `"{}"`, "null"} {
		if all, err := Members([]byte(none), 10); all != nil || err != nil {
			t.Errorf("%s: %v, %v", none, all, err)
		}
	}
}
