package facts

import (
	"os/exec"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/command/gitpush"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

// TestThreeLinesAboutBranches decides with a real repository: the policy of
// docs/policy.md, before and after another branch is checked out.
func TestThreeLinesAboutBranches(t *testing.T) {
	w := newRemotes(t)
	w.set("feature")
	file, err := language.Load([]byte(`version: 1
commands:
  git: {allow: ["push {ref:feature/*}"], ask: ["push {ref:main}"], deny: ["push {force}"]}
  env|timeout: {allow: ["*"]}
`), "p", language.Options{Split: cmdline.Split})
	if err != nil {
		t.Fatal(err)
	}
	decide := func(line string, change func(*tipstaff.Request)) policy.Effect {
		t.Helper()
		h := New(Options{Path: "/usr/bin:/bin", Home: w.home})
		words, err := cmdline.Split(line)
		if err != nil {
			t.Fatal(err)
		}
		req := tipstaff.Request{Family: tipstaff.Execute, Argv: words, Dir: w.dir, DirGiven: true}
		if change != nil {
			change(&req)
		}
		d := policy.New(policy.Settings{
			Limits:      map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {DefaultTimeout: time.Minute, OutputBytes: 1 << 20}},
			Environment: policy.NewEnvironment([]string{"HOME=" + w.home}, "/usr/bin:/bin"), File: file,
		}).Decide(req, h)
		defer d.Close()
		if g, ok := d.Grant(); ok {
			g.Close()
		}
		return d.Effect
	}
	with := func(env ...string) func(*tipstaff.Request) { return func(r *tipstaff.Request) { r.Env = env } }
	for _, c := range []struct {
		line   string
		change func(*tipstaff.Request)
		want   policy.Effect
	}{
		{"git push", nil, policy.Allow},
		{"git push origin HEAD", nil, policy.Allow},
		{"timeout 5 git push", nil, policy.Allow},
		{"env A=b git push", nil, policy.Allow},
		{"git push", with("A=b"), policy.Allow},
		{"git push", with("HOME=" + w.home), policy.Allow},
		{"git -C . push", nil, policy.Deny}, // no rule allows -C
		{"git push origin main", nil, policy.Ask},
		{"git push origin feature/alias", nil, policy.Ask}, // it stands for main
		{"git push", func(r *tipstaff.Request) { r.Dir += "/../tree" }, policy.Deny},
		{"git push origin main", func(r *tipstaff.Request) { r.Dir += "/../tree" }, policy.Ask},
		// What could be another repository, or another configuration, is not known.
		{"git push", with("GIT_DIR=/x"), policy.Deny},
		{"git push", with("GIT_CONFIG_COUNT=1"), policy.Deny},
		{"git push", with("HOME=/x"), policy.Deny},
		{"git push", with("XDG_CONFIG_HOME=/x"), policy.Deny},
		{"env HOME=/x git push", nil, policy.Deny},
		{"env -C /x git push", nil, policy.Deny},
	} {
		if got := decide(c.line, c.change); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
	w.git("checkout", "-q", "main")
	if got := decide("git push", nil); got != policy.Ask {
		t.Errorf("on main: %s", got)
	}
	w.write(".git/remotes/old", "URL: ../origin.git\nPush: refs/heads/x:refs/heads/main\n")
	if got := decide("git push", nil); got != policy.Deny {
		t.Errorf("with a remote in a file of its own: %s", got)
	}
}

// BenchmarkRepository is what a push costs more than another command, where
// rules speak of refs.
func BenchmarkRepository(b *testing.B) {
	dir := b.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main", "."}, {"-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "--allow-empty", "-m", "x"}, {"remote", "add", "origin", "../o.git"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v %s", err, out)
		}
	}
	h := New(Options{Path: "/usr/bin:/bin"})
	d, err := h.Directory(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	for b.Loop() {
		p := gitpush.Read([]string{"push"}, own, func(at gitpush.Location) gitpush.Repository {
			return h.Repository(policy.GitRun{Dir: d, Location: at, Program: "/usr/bin/git", Home: dir})
		})
		if !p.Whole {
			b.Fatalf("%+v", p)
		}
	}
}
