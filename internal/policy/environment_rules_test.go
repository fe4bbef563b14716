package policy

import "testing"

// TestARowOfVariablesThatCannotBeReadSaysWhere.
func TestARowOfVariablesThatCannotBeReadSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"keep both exact A\n":      `no colon in "keep both exact A\n"`,
		"keep both: A\n":           `"keep both: A\n": 2 words instead of three`,
		"drop both exact: A\n":     `"drop both exact: A\n": unknown action "drop"`,
		"keep nobody exact: A\n":   `"keep nobody exact: A\n": unknown owner "nobody"`,
		"keep both somehow: A B\n": `"keep both somehow: A B\n": unknown match "somehow"`,
	} {
		if _, err := parseVariableRules(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
