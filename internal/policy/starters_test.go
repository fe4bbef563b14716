package policy

import (
	"strings"
	"testing"
)

// TestTheTableOfStartersCanBeReached: an option that nobody can write, or that
// another row hides, is a mistake in the table.
func TestTheTableOfStartersCanBeReached(t *testing.T) {
	seen := map[*starter]bool{}
	var look func(name string, s *starter)
	look = func(name string, s *starter) {
		if seen[s] {
			return
		}
		seen[s] = true
		for o, what := range s.options {
			switch {
			case !strings.HasPrefix(o, "-") || o == "-" || o == "--":
				t.Errorf("%s: %q is no option", name, o)
			case s.single && strings.HasPrefix(o, "--"):
				t.Errorf("%s: %q is written with one dash in this table", name, o)
			case what.kind == optionNeeds && what.of == "":
				t.Errorf("%s: %q needs nothing", name, o)
			}
		}
		if s.dashdash && s.after > 0 {
			t.Errorf("%s: operands are skipped twice", name)
		}
		if !s.wraps && (s.shell || s.joined || s.appends || s.assigns || s.digits || s.project || s.workspace) {
			t.Errorf("%s: says how it wraps, but not that it does", name)
		}
		for sub, table := range s.subs {
			look(name+" "+sub, table)
		}
	}
	for name, s := range starters() {
		look(name, s)
	}
	if len(seen) < 100 {
		t.Errorf("only %d programs", len(seen))
	}
}

// TestATableThatCannotBeReadSaysWhere.
func TestATableThatCannotBeReadSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"a\n    flag: -x\n":      `"flag: -x" is indented too far`,
		"a\n  flag -x\n":         `no colon in "flag -x"`,
		"a\n  falg: -x\n":        `"falg: -x": unknown row "falg"`,
		"a\n  wraps: after x\n":  `"wraps: after x": strconv.Atoi: parsing "x": invalid syntax`,
		"a\n  wraps: sideways\n": `"wraps: sideways": unknown word "sideways"`,
		"a\n  operand: any\n":    `"operand: any": unknown operand row "any"`,
		"a\n  operand: code\n":   `"operand: code": no language`,
	} {
		if _, err := parseStarters(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
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
