package scan

import (
	"strings"
	"testing"
)

// TestABranchForAnotherShellIsRefusedWhenItIsReached: files that people source have
// branches for zsh, whose expansions are none of Bash. Bash looks into them when it
// comes to them.
func TestABranchForAnotherShellIsRefusedWhenItIsReached(t *testing.T) {
	for _, other := range []string{
		`x=${(%):-%x}`, `x="${(%):-%x}"`, `x=${${(%):-%N}:A:h}`, `x=("${(@f)y}")`, `x=${=y}`, `x=${^y}`, `x=${~y}`,
		`[ ${+commands[git]} = 1 ]`, `x=${path:#a}`, `x=${(j:,:)y}`, `x=${(%):-"%x"}`, `echo ${y~~}`, `coproc cat`,
		`select x in a; do :; done`, `exec 99>f`, `GLOBIGNORE=a`, `shopt -s expand_aliases`, `: ${y@A} ${y@P}`,
	} {
		for _, around := range []string{
			"if [ -n \"$ZSH_VERSION\" ]; then\n\t%\nfi", "[ -z \"$ZSH_VERSION\" ] || { %; }", "f() { %; }", "case x in y) %;; esac",
			"while false; do %; done", "for i in; do %; done", "if true; then :; elif %; then :; fi", "[ -z \"$X\" ] && return\n%",
		} {
			text := strings.Replace(around, "%", other, 1)
			s, err := Parse(text)
			if err != nil || len(s.Later) != 1 {
				t.Errorf("%s: %v, %v", text, s, err)
				continue
			}
			if _, err := s.Plain("/"); err == nil {
				t.Errorf("%s: plain", text)
			}
		}
		for _, certain := range []string{other, "echo a; " + other, "{ " + other + "; }", "(" + other + ")", "if " + other + "; then :; fi", "echo | { " + other + "; }", other + " && x"} {
			if s, err := Parse(certain); err == nil {
				t.Errorf("%s: not refused at once: %v", certain, s.Later)
			}
		}
	}
	for _, broken := range []string{`if x; then '${(%)'; fi; (`, `if x; then echo ${(%; fi`, `if x; then echo @(a|b); fi`, `if x; then f() echo a; fi`, "if x; then `${(%)}`; '; fi"} {
		if s, err := Parse(broken); err == nil {
			t.Errorf("%s: %v", broken, s.Later)
		}
	}
}
