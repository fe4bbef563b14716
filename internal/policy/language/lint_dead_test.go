package language_test

import (
	"strings"
	"testing"

	"tipstaff/internal/policy/language"
)

// TestARuleThatAPresetMakesDeadIsReported: an operator wrote ask: [restart nginx]
// and extended preset:system, which denies it; nothing said that nobody would
// ever be asked.
func TestARuleThatAPresetMakesDeadIsReported(t *testing.T) {
	for rules, want := range map[string]string{
		`systemctl: {allow: ["status *"], ask: ["restart nginx"]}`:                                      `"restart nginx" never asks`,
		`systemctl: {allow: ["status *"], ask: [restart|reload]}`:                                       "never asks",
		`systemctl: {allow: ["status *", "restart {int}"]}`:                                             "never allows",
		`git: {allow: [status, "difftool|mergetool *"]}`:                                                "never allows",
		`git: {allow: [status], ask: ["grep -O"]}`:                                                      "never asks",
		`git: {allow: ["-c core.pager=x log *"]}`:                                                       "never allows",
		`systemctl: {allow: ["status *"], ask: [list-units|restart]}`:                                   "",
		`systemctl: {allow: ["status|restart *"]}`:                                                      "",
		`git: {allow: ["*"], ask: [push, fetch], deny: ["push -f"]}`:                                    "",
		`git: {allow: ["push {ref:feature/*}", "diff *", "-C {path} log *"], ask: ["push {ref:main}"]}`: "",
	} {
		p, err := load("version: 1\nextends: [preset:system, preset:git]\ncommands:\n  " + rules + "\n")
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, f := range p.Lint(language.LintOptions{}) {
			if strings.Contains(f.Msg, "never") {
				said = append(said, f.Msg)
			}
		}
		if got := strings.Join(said, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", rules, got, want)
		}
	}
}
