package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/command/gitpush"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

func refsPolicy(t testing.TB, commands string) *policy.Policy {
	t.Helper()
	file, err := language.Load([]byte("version: 1\ncommands:\n  "+commands+"\n"), "p", language.Options{Split: cmdline.Split})
	if err != nil {
		t.Fatal(err)
	}
	s := server()
	s.File = file
	return policy.New(s)
}

// TestTheRepositoryIsReadForPushesOnly, and once, whatever the rules are.
func TestTheRepositoryIsReadForPushesOnly(t *testing.T) {
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, `"push {ref:feature-%d/*}", `, i)
	}
	p := refsPolicy(t, `git: {allow: ["*"], ask: [`+many.String()+`"push {ref:main}"], deny: ["push {force}", push --force]}`)
	for line, want := range map[string]int{"git status": 0, "git log -3": 0, "git commit -m push": 0, "git stash push": 0, "git push": 1, "git push origin x:y": 1, "git lfs push x": 0} {
		w := unlisted()
		w.git = onBranch("topic")
		words, _ := cmdline.Split(line)
		decideWordsIn(p, w, words)
		if w.asked != want {
			t.Errorf("%s: the repository was read %d times, want %d", line, w.asked, want)
		}
	}
	plain := refsPolicy(t, `git: {allow: ["*"], deny: [push --option]}`)
	w := unlisted()
	w.git = onBranch("topic")
	decideWordsIn(plain, w, []string{"git", "push", "origin", "x"})
	if w.asked != 0 {
		t.Error("the repository was read for rules that say nothing of refs")
	}
}

// TestAPushDependsOnWhatIsCheckedOut: the same words, other facts.
func TestAPushDependsOnWhatIsCheckedOut(t *testing.T) {
	p := refsPolicy(t, `git: {allow: ["push {ref:feature/*}"], ask: ["push {ref:main}"], deny: ["push {force}"]}`)
	setting := func(section, sub, name, value string) gitpush.Setting {
		return gitpush.Setting{Section: section, Sub: sub, Name: name, Value: value}
	}
	for _, c := range []struct {
		git  *gitpush.Repository
		line string
		want policy.Effect
	}{
		{onBranch("feature/x"), "git push", policy.Allow},
		{onBranch("main"), "git push", policy.Ask},
		{onBranch("topic"), "git push", policy.Deny},
		{onBranch(""), "git push", policy.Deny}, // detached: git refuses it, no rule allows it
		{nil, "git push", policy.Deny},          // not known: it may force
		{nil, "git push origin HEAD:refs/heads/feature/x", policy.Deny},
		{onBranch("feature/x", setting("push", "", "default", "matching")), "git push", policy.Ask},
		{onBranch("feature/x", setting("push", "", "default", "nothing")), "git push", policy.Deny},
		{onBranch("feature/x", setting("push", "", "default", "upstream"), setting("branch", "feature/x", "merge", "refs/heads/main")), "git push", policy.Ask},
		{onBranch("feature/x", setting("push", "", "default", "upstream"), setting("branch", "feature/x", "merge", "refs/heads/main")), "git push origin HEAD", policy.Allow},
		{onBranch("feature/x", setting("push", "", "default", "upstream"), setting("branch", "feature/x", "merge", "refs/heads/main")), "git push origin feature/x", policy.Ask},
		{onBranch("feature/x", setting("remote", "origin", "push", "refs/heads/*:refs/heads/main")), "git push origin feature/x", policy.Ask},
		{onBranch("feature/x", setting("remote", "origin", "push", "+refs/heads/*:refs/heads/*")), "git push origin feature/x", policy.Deny},
		{onBranch("feature/x", setting("remote", "origin", "mirror", "true")), "git push", policy.Deny},
		{onBranch("feature/x", setting("push", "", "followtags", "true")), "git push", policy.Deny},
		{onBranch("feature/x", setting("push", "", "recursesubmodules", "on-demand")), "git push", policy.Deny},
	} {
		w := unlisted()
		w.git = c.git
		words, _ := cmdline.Split(c.line)
		if d := decideWordsIn(p, w, words); d.Effect != c.want {
			t.Errorf("%s: %s, want %s: %s", c.line, d.Effect, c.want, answer(d))
		}
	}
}

// TestAnAliasIsJudgedAsWhatItStandsFor: by ask and deny; the alias itself needs
// to be allowed.
func TestAnAliasIsJudgedAsWhatItStandsFor(t *testing.T) {
	p := refsPolicy(t, `git: {allow: ["*"], ask: ["push {ref:main}"], deny: ["push {force}", clean]}`)
	alias := func(value string) *gitpush.Repository {
		return onBranch("feature/x", gitpush.Setting{Section: "alias", Name: "p", Value: value})
	}
	for value, want := range map[string]policy.Effect{
		"log --oneline": policy.Allow, "push": policy.Allow, "push -f": policy.Deny, "push origin main": policy.Ask,
		"p2": policy.Deny, "clean -fdx": policy.Deny, "-c push.default=matching push": policy.Ask,
		"!f() { rm -rf x; }; f": policy.Deny, "!rm -rf x": policy.Deny, "!git clean": policy.Deny, "!git log": policy.Allow,
	} {
		w := unlisted()
		w.git = alias(value)
		if d := decideWordsIn(p, w, []string{"git", "p"}); d.Effect != want {
			t.Errorf("alias.p=%s: %s, want %s: %s", value, d.Effect, want, answer(d))
		}
	}
	w := unlisted()
	w.git = alias("push")
	for line, want := range map[string]policy.Effect{"git p -f": policy.Deny, "git p origin +x": policy.Deny, "git p origin x:main": policy.Ask, "timeout 5 git p -f": policy.Deny, "git -C src p -f": policy.Deny} {
		p := refsPolicy(t, `git: {allow: ["*"], ask: ["push {ref:main}"], deny: ["push {force}"]}`+"\n  timeout: {allow: ['*']}")
		words, _ := cmdline.Split(line)
		if d := decideWordsIn(p, w, words); d.Effect != want {
			t.Errorf("%s: %s, want %s", line, d.Effect, want)
		}
	}
}

// TestImpliedPushesCanBeRefused: what the arguments alone decide passes.
func TestImpliedPushesCanBeRefused(t *testing.T) {
	p := refsPolicy(t, `git: {allow: ["push {ref:feature/*}"], deny: ["push {implied}"]}`)
	w := unlisted()
	w.git = onBranch("feature/x")
	for line, want := range map[string]policy.Effect{
		"git push": policy.Deny, "git push origin HEAD": policy.Deny, "git push origin feature/x": policy.Deny, "git push origin HEAD:feature/x": policy.Deny,
		"git push origin HEAD:refs/heads/feature/x": policy.Allow, "git push origin main:refs/heads/feature/x": policy.Allow,
	} {
		words, _ := cmdline.Split(line)
		if d := decideWordsIn(p, w, words); d.Effect != want {
			t.Errorf("%s: %s, want %s", line, d.Effect, want)
		}
	}
}

// BenchmarkRefs: a push under a file about refs, and a command that is none.
func BenchmarkRefs(b *testing.B) {
	p := refsPolicy(b, `git: {allow: ["status *", "push {ref:feature/*}"], ask: ["push {ref:main}"], deny: ["push {force}"]}`)
	for _, line := range []string{"git push", "git status"} {
		words, _ := cmdline.Split(line)
		w := unlisted()
		w.git = onBranch("feature/x")
		b.Run(words[1], func(b *testing.B) {
			for b.Loop() {
				decideWordsIn(p, w, words)
			}
		})
	}
}

// TestAScriptMayCheckOutTheBranchThatItPushes: what depends on the repository is
// judged when the script comes to it, what the arguments say before it begins.
func TestAScriptMayCheckOutTheBranchThatItPushes(t *testing.T) {
	file, err := language.Load([]byte("version: 1\nshell: write\ncommands:\n  git: {allow: ['checkout *', 'push {ref:feature/*}'], deny: ['push {force}']}\n"), "p", language.Options{Split: cmdline.Split})
	if err != nil {
		t.Fatal(err)
	}
	s := server()
	s.File = file
	p, w := policy.New(s), unlisted()
	w.git = onBranch("main")
	for script, want := range map[string]policy.Effect{
		"git checkout -b feature/x; git push -u origin HEAD":    policy.Allow,
		"git checkout -b feature/x; git push":                   policy.Allow,
		"git checkout -b feature/x; git push -f":                policy.Deny,
		"git checkout -b feature/x; git push origin +feature/x": policy.Deny,
		"git push origin HEAD:refs/heads/main":                  policy.Deny,
		"git push origin HEAD:refs/heads/feature/x":             policy.Allow,
	} {
		d := p.Decide(tipstaff.Request{Family: tipstaff.Execute, Script: script}, w)
		if g, ok := d.Grant(); ok {
			g.Close()
		}
		d.Close()
		if d.Effect != want {
			t.Errorf("%s: %s, want %s: %s", script, d.Effect, want, answer(d))
		}
	}
}

// TestAnApprovalOfAPushIsForItsBranch: the same words on another branch are
// another question.
func TestAnApprovalOfAPushIsForItsBranch(t *testing.T) {
	p := refsPolicy(t, `git: {allow: ["push {ref:feature/*}"], ask: ["push {ref:main|release/*}"]}`)
	question := func(branch string) policy.Question {
		w := unlisted()
		w.git = onBranch(branch)
		d := p.Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: []string{"git", "push"}}, w)
		defer d.Close()
		q, ok := d.Question()
		if !ok {
			t.Fatalf("on %s: %s", branch, d.Effect)
		}
		return q
	}
	main := question("main")
	if again := question("main"); again.Digest != main.Digest || !strings.Contains(main.Why, "main") {
		t.Errorf("the same question is another one, or does not say what is meant: %+v", main)
	}
	if question("release/1").Digest == main.Digest {
		t.Error("an approval for main counts for release/1")
	}
}

// TestProfilesKnowRefs: with the program in front.
func TestProfilesKnowRefs(t *testing.T) {
	p := refsPolicy(t, `git: {allow: ["*"]}
profiles:
  review: {match: {agent: review}, only: [git log, "git push {ref:review/*}"]}
  bot: {match: {agent: bot}, deny: ["git push {ref:main}"], ask: ["git push {delete}"]}`)
	for line, want := range map[string]policy.Effect{
		"review git log -3": policy.Allow, "review git push origin review/x": policy.Allow, "review git push -u origin HEAD:refs/heads/review/x": policy.Allow,
		"review git push origin x": policy.Deny, "review git push": policy.Deny, "review git push origin +review/x": policy.Deny,
		"bot git push origin x": policy.Allow, "bot git push origin HEAD:main": policy.Deny, "bot git push origin :x": policy.Ask, "bot git push --all": policy.Deny,
	} {
		agent, line, _ := strings.Cut(line, " ")
		words, _ := cmdline.Split(line)
		w := unlisted()
		w.git = onBranch("topic")
		d := p.Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: words, Origin: tipstaff.Origin{Agent: agent}}, w)
		if g, ok := d.Grant(); ok {
			g.Close()
		}
		d.Close()
		if d.Effect != want {
			t.Errorf("%s: %s: %s, want %s: %s", agent, line, d.Effect, want, answer(d))
		}
	}
}
