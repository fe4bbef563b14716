package tipstaff

import (
	"slices"
	"strings"
	"testing"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestATraceparentThatIsNotToTheLetterIsIgnored(t *testing.T) {
	for _, good := range []string{
		parent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "00-00000000000000000000000000000001-0000000000000001-ff",
	} {
		if got := ParseTrace(good, "").Parent(); got != good {
			t.Errorf("%q became %q", good, got)
		}
	}
	for why, bad := range map[string]string{
		"nothing":               "",
		"a version of tomorrow": "01" + parent[2:],
		"the invalid version":   "ff" + parent[2:],
		"capitals":              strings.ToUpper(parent),
		"no trace":              "00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"no span":               "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"too short":             parent[:54],
		"too long":              parent + "-00",
		"a line more":           parent + "\n",
		"not hexadecimal":       "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
		"other separators":      strings.ReplaceAll(parent, "-", "_"),
		"separators elsewhere":  "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
		"flags that are none":   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
		"a NUL":                 parent[:54] + "\x00",
	} {
		if got := ParseTrace(bad, "a=1"); got != (Trace{}) {
			t.Errorf("%s: %q became %v", why, bad, got)
		}
	}
}

func TestAMalformedTracestateIsIgnoredAlone(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("a=1,", 33), ",")
	for _, c := range []struct {
		state string
		good  bool
	}{
		{"congo=t61rcWkgMzE", true}, {"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true}, {"t@v=x y", true}, {"a=1, b=2", true}, {"0a=1", true},
		{"a", false}, {"=1", false}, {"A=1", false}, {"a=", false}, {"a=1,a=2", false}, {"a=1=2", false}, {"a=\x00", false}, {"a=1\nB=2", false}, {"a=é", false},
		{many, false}, {"a=" + strings.Repeat("x", 257), false}, {strings.Repeat("k", 513), false},
	} {
		got := ParseTrace(parent, c.state)
		if got.Parent() != parent || (got.State() == c.state) != c.good {
			t.Errorf("%q: %v", c.state, got)
		}
	}
}

func TestAProgramIsToldOfItsTrace(t *testing.T) {
	for _, c := range []struct {
		trace Trace
		want  []string
	}{
		{Trace{}, nil},
		{ParseTrace(parent, ""), []string{"TRACEPARENT=" + parent}},
		{ParseTrace(parent, "a=1"), []string{"TRACEPARENT=" + parent, "TRACESTATE=a=1"}},
	} {
		if got := c.trace.Variables(); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q", c.trace, got)
		}
	}
}
