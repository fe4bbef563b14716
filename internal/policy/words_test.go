package policy

import (
	"strings"
	"testing"

	"tipstaff"
)

// TestAScriptGivesACommandMoreWordsThanACall: wc -l **/*.go had 6 000 words, and was
// refused with 4 096. A call has that bound still, and a script that of Linux.
func TestAScriptGivesACommandMoreWordsThanACall(t *testing.T) {
	for _, c := range []struct {
		words  int
		each   string
		script bool
		want   string
	}{
		{4096, "x", false, ""}, {4097, "x", false, "structure/count"}, {4097, "x", true, ""}, {200_000, "x", true, ""},
		{300_000, "x", true, "structure/count"}, {20, strings.Repeat("x", 100_000), true, ""}, {22, strings.Repeat("x", 100_000), true, "structure/total"},
		{20, strings.Repeat("x", 100_000), false, "structure/total"}, {1, strings.Repeat("x", 131_072), true, "structure/length"},
	} {
		argv := []string{"wc"}
		for range c.words {
			argv = append(argv, c.each)
		}
		req := tipstaff.Request{Argv: argv}
		if c.script {
			req.Parent = "script"
		}
		got := ""
		for _, f := range (structure{}).Judge(&req, nil, &Draft{Argv: argv}) {
			got = f.Rule
		}
		if got != c.want {
			t.Errorf("%d words of %d bytes, script %v: %q, not %q", c.words, len(c.each), c.script, got, c.want)
		}
	}
}
