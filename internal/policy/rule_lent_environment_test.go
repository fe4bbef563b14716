package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

// lending is a policy that lends, with wrappers that lend less.
const lending = `version: 1
commands:
  psql: {allow: [{rule: "-c *", environment: {pass: [DATABASE_URL, NOT_THERE]}}, {rule: "*"}]}
  git: {allow: [status], ask: [{rule: push, credentials: [git, ssh-agent]}]}
  env: {allow: [{rule: "*", credentials: [git]}]}
  timeout: {allow: ["*"]}
`

func lendingPolicy(t *testing.T) (*policy.Policy, *fakeWorld) {
	t.Helper()
	file, err := language.Load([]byte(lending), "policy.yaml", fileOptions(nil))
	if err != nil {
		t.Fatal(err)
	}
	w := allowing()
	w.allowed[tipstaff.Execute] = policy.Allowlist{Absent: true}
	return policy.New(policy.Settings{
		Limits:      map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {DefaultTimeout: time.Second, OutputBytes: 1000}},
		Environment: policy.NewEnvironment([]string{"DATABASE_URL=postgres://u:secret@db/x", "DATABASE_URL=second", "OTHER_TOKEN=x"}, "/bin"),
		File:        file,
	}), w
}

func lent(t *testing.T, line string, vars ...string) policy.Decision {
	t.Helper()
	p, w := lendingPolicy(t)
	words, err := cmdline.Split(line)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: words, Env: vars, OfSession: vars}, w)
	t.Cleanup(d.Close)
	if g, ok := d.Grant(); ok {
		t.Cleanup(g.Close)
	}
	return d
}

func TestAVariableIsPassedToTheRulesCommandAloneWithTheServersValue(t *testing.T) {
	d := lent(t, "psql -c x", "DATABASE_URL=mine")
	g, ok := d.Grant()
	if !ok {
		t.Fatal(answer(d))
	}
	if got := strings.Join(g.Env(), " "); !strings.Contains(got, "DATABASE_URL=postgres://u:secret@db/x") || strings.Contains(got, "mine") || strings.Contains(got, "TOKEN") || strings.Contains(got, "NOT_THERE") {
		t.Errorf("it gets %q", got)
	}
	if !slices.Equal(g.Dropped(), []string{"DATABASE_URL"}) {
		t.Errorf("of the caller's it drops %q", g.Dropped())
	}
	d = lent(t, "psql -l")
	if g, ok = d.Grant(); !ok || strings.Contains(strings.Join(g.Env(), " "), "DATABASE_URL") || g.Credentials() != nil {
		t.Errorf("another command gets %q, %v", g.Env(), g.Credentials())
	}
}

func TestAWrappedCommandIsLentWhatEveryLayersRuleLends(t *testing.T) {
	for line, want := range map[string]string{
		"git push":             "git, ssh-agent",
		"env git push":         "git",
		"timeout 5 git push":   "",
		"env timeout git push": "",
		"git status":           "",
	} {
		d := lent(t, line)
		w := d.LaunchPreview()
		if got := strings.Join(w.Credentials.Strings(), ", "); got != want {
			t.Errorf("%s is lent %q, not %q (%s)", line, got, want, answer(d))
		}
	}
}

// TestInsideAFileThatNoRuleJudgedIsLentNothing: in another directory a relative path is
// another file, which may have any name.
func TestInsideAFileThatNoRuleJudgedIsLentNothing(t *testing.T) {
	p := policy.New(withFile(t, `version: 1
default: inside
sandbox: {network: [all.test]}
commands:
  env|find|git: {allow: [{rule: "*", credentials: [git]}], network: [lent.test]}
`))
	for line, want := range map[string]bool{ // the first is the control
		"env git push":                     true,
		"env -C sub ./tool":                false,
		"env -C sub ./git push":            false,
		"env env -C sub ./git push":        false,
		"find . -execdir ./tool ;":         false,
		"find . -execdir ./git push ;":     false,
		"git -C sub push --exec=./tool x":  false,
		"env ./tool":                       false,
		"env -C sub git push":              true,
		"env -C sub /nowhere/../git push":  false,
		"git -c core.sshCommand=./x fetch": false,
	} {
		w := allowing().unset()
		w.files = map[string]string{"/work/tool": "", "/work/git": "", "/work/sub/tool": "", "/work/sub/git": ""}
		d := p.Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: strings.Fields(line)}, w)
		if d.Effect != policy.Allow {
			t.Fatalf("%s: %s", line, answer(d))
		}
		l := d.LaunchPreview()
		if got := l.Credentials != nil; got != want || slices.Contains(l.Bounds.Network.Hosts, "lent.test") != want {
			t.Errorf("%s is lent %v and reaches %v", line, l.Credentials, l.Bounds.Network.Hosts)
		}
		d.Close()
	}
}

func TestAPersonAllowsWhatIsLentToo(t *testing.T) {
	d := lent(t, "git push")
	q, ok := d.Question()
	if !ok || !slices.Equal(q.Credentials, []string{"git", "ssh-agent"}) {
		t.Fatalf("%t, %q", ok, q.Credentials)
	}
	fewer := lent(t, "env git push")
	if other, ok := fewer.Question(); !ok || other.Digest == q.Digest || !slices.Equal(other.Credentials, []string{"git"}) {
		t.Errorf("%t, %q", ok, other.Credentials)
	}
}
