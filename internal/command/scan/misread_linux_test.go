package scan

import (
	"slices"
	"strings"
	"testing"
)

// TestWhatTheParserMisreadsIsRefused: Bash runs p9 for each of these texts, and the
// parser does not see that it would. Each is refused where it is misread.
func TestWhatTheParserMisreadsIsRefused(t *testing.T) {
	b := newBash(t)
	for text, at := range map[string]string{
		"p1 # note \\\np9 x":              "1:4",
		"p1 # note \\\r\np9 x":            "1:4",
		"p2; # a\n# b\\\np9 #":            "2:1",
		"p1 <<'E'# ; p9\nx\nE":            "1:6",
		"p1 <<'E'#; p9\nx\nE":             "1:6",
		"p1 <<'E'#| p9\nx\nE":             "1:6",
		"p1 \"$\\\n(p9)\"":                "1:6",
		"p1 \"a$\\\n\\\n(p9)\"":           "1:7",
		"p1 \"a$\\\n`p9`\"":               "1:7",
		"p1 <<E\n$\\\n(p9)\nE":            "2:2",
		"p1 <<-E\n\ta $\\\n{x:-$(p9)}\nE": "2:5",
	} {
		_, err := Parse(text)
		if err == nil || !strings.HasPrefix(err.Error(), at+": ") || !strings.Contains(err.Error(), "not supported") {
			t.Errorf("%q: %v, want a refusal at %s", text, err, at)
		}
		calls, _ := b.run(t, text)
		if !slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(call, "p9") }) {
			t.Errorf("the control: Bash ran only %q for %q", calls, text)
		}
	}
	for _, text := range []string{
		"p1 '# a \\\nb'", "p1 \"# a \\\nb\"", "p1 \\\n# c\n", "p1 a \\\n  b # c", "p1 <<'E'\n# a \\\n$\\\n(p9)\nE", "p1 '$\\\n(p9)'", "p1 &&\\\np2", "p1 |\\\n p2", "p1 <<E; p2\nE", "p1 a#b \\\nc", "x=$(p1 <<E\na\nE\n)",
	} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%q is refused, and both read it alike: %v", text, err)
		}
	}
}
