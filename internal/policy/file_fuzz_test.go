package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

// fuzzed is the policy whose properties are tested; ask and deny add rules.
func fuzzed(ask, deny []string) (*language.Policy, error) {
	text := func(list []string) string {
		var b strings.Builder
		for i, s := range list {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "'%s'", strings.ReplaceAll(s, "'", "''"))
		}
		return b.String()
	}
	return language.Load(fmt.Appendf(nil, `version: 1
commands:
  git:
    allow: ["status|log *", "commit -m *", "-C {path} log", "add --force|--all *", push]
    ask: [%s]
    deny: [%s]
    text_flags: [-m, commit --message]
  env|xargs|find|tool: {allow: ["*"]}
`, text(append([]string{"push"}, ask...)), text(append([]string{"push --force", "-c alias.*", "-rf", "--exec-path"}, deny...))), "p", language.Options{Split: cmdline.Split})
}

// decideWords decides about a command and closes the decision.
func decideWords(p *policy.Policy, words []string) policy.Decision {
	d := p.Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: words}, unlisted())
	if g, ok := d.Grant(); ok {
		g.Close()
	}
	return d
}

func policyOf(file *language.Policy) *policy.Policy {
	s := server()
	s.File = file
	return policy.New(s)
}

// FuzzARuleMoreNeverWidens: adding a rule to deny never makes a decision less
// strict, and adding one to ask never allows or asks for what was denied by a
// rule. Deciding twice gives the same, and nothing panics.
func FuzzARuleMoreNeverWidens(f *testing.F) {
	for _, seed := range [][2]string{
		{"push origin", "git push origin main"}, {"--force-w", "git push --force-w"}, {"-c", "git -c alias.x=!y log"},
		{"*", "git status"}, {"--force", "git add --force x"}, {"log -p", "env git log -p"}, {"-C", "git -C x log"},
		{"{path}", "git log src/a"}, {"{int}|x*", "xargs -I{} git {}"}, {"-m", "git commit -m '--force'"}, {"commit -m *", "git commit -m x"},
	} {
		f.Add(seed[0], seed[1])
	}
	base, err := fuzzed(nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	before := policyOf(base)
	f.Fuzz(func(t *testing.T, pattern, line string) {
		words, err := cmdline.Split(line)
		if err != nil || len(words) == 0 {
			return
		}
		was := decideWords(before, words)
		again := decideWords(before, words)
		if was.Effect != again.Effect || was.Deciding().Rule != again.Deciding().Rule {
			t.Fatalf("%q: %s, then %s", words, was.Effect, again.Effect)
		}
		if strings.ContainsAny(pattern, "\x00\n\r\t") || strings.ContainsFunc(pattern, func(r rune) bool { return r < ' ' || r == 0xfffd || r > 0x7e }) {
			return // YAML gives these a special meaning
		}
		if more, err := fuzzed(nil, []string{pattern}); err == nil {
			if is := decideWords(policyOf(more), words); is.Effect > was.Effect {
				t.Errorf("deny %q: %q was %s and is %s", pattern, words, was.Effect, is.Effect)
			}
		}
		more, err := fuzzed([]string{pattern}, nil)
		if err != nil {
			return
		}
		is := decideWords(policyOf(more), words)
		offered := was.Effect == policy.Deny && is.Effect == policy.Ask && onlyDefault(was)
		if is.Effect > was.Effect && !offered {
			t.Errorf("ask %q: %q was %s and is %s", pattern, words, was.Effect, is.Effect)
		}
	})
}

// onlyDefault reports whether nothing but the default denied.
func onlyDefault(d policy.Decision) bool {
	return !slices.ContainsFunc(d.Findings, func(f policy.Finding) bool {
		return f.Effect == policy.Deny && !strings.HasSuffix(f.Rule, "/default") // no rule of this file has that name
	})
}

// FuzzLoadNeverPanics, whatever the file contains.
func FuzzLoadNeverPanics(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("version: 1\ncommands: {a: {allow: [{rule: x, until: 2020-01-01}]}}"))
	f.Add([]byte("a: &x [*x]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := language.Load(data, "p", fileOptions(exampleFiles))
		if err != nil {
			if err.Error() == "" {
				t.Error("it does not say what is wrong")
			}
			return
		}
		policy.CheckFile(file)
		file.Lint(language.LintOptions{})
		file.Summary(language.Who{})
	})
}
