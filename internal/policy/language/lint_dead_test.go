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
			if want == "" || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "except: [") {
				t.Errorf("%s: %v", rules, err)
			}
			continue
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

// TestAPresetLosesARuleByItsID: nobody could say "system, but for systemctl
// edit", so operators left the whole preset out.
func TestAPresetLosesARuleByItsID(t *testing.T) {
	const head = "version: 1\nextends: [{preset: system, except: [%s]}]\ncommands:\n  systemctl: {allow: [\"status *\"], ask: [\"restart nginx\"]}\n"
	for id, want := range map[string]string{
		"system/systemctl-edit":  "",
		"system/systemctl-edti":  `did you mean "system/systemctl-edit"?`,
		"system/systemctl-host":  `"restart nginx" never asks`,
		"git/force-push":         `the preset "system" has no rule "git/force-push"`,
		"system/systemctl-edit,": "",
	} {
		_, err := load(strings.Replace(head, "%s", id, 1))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}

// TestReadsStandsWhereItIsKnown: {reads} for a program that nothing is known of
// would match nothing, or anything.
func TestReadsStandsWhereItIsKnown(t *testing.T) {
	for rules, want := range map[string]string{
		`kubectl: {allow: ["{reads}"]}`:     "",
		`frobnicate: {allow: ["{reads}"]}`:  "nothing is known here of what \"frobnicate\" reads",
		`"*": {allow: ["{reads}"]}`:         "nothing is known here",
		`kubectl: {allow: ["get {reads}"]}`: "a whole rule",
		`kubectl: {deny: ["{reads}"]}`:      "under allow only",
		`kubectl: {allow: ["{reads}|get"]}`: "a whole rule",
	} {
		_, err := load("version: 1\ncommands:\n  " + rules + "\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", rules, err, want)
		}
	}
}
