package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tipstaff"
	"tipstaff/internal/policy"
)

// decisions are one of each effect, and the worlds that count their directories.
func narrowed(t testing.TB) map[policy.Effect]func() (policy.Decision, *fakeWorld) {
	t.Helper()
	by := func(p *policy.Policy, program string) func() (policy.Decision, *fakeWorld) {
		return func() (policy.Decision, *fakeWorld) {
			w := allowing("npm")
			return p.Decide(terminal(program), w), w
		}
	}
	return map[policy.Effect]func() (policy.Decision, *fakeWorld){
		policy.Allow: by(policy.New(server()), "npm"),
		policy.Ask:   by(policy.NewAsking(server()), "npm"),
		policy.Deny:  by(policy.New(server()), "rm"),
	}
}

// FuzzNarrow: a finding that is added later never makes a decision less strict.
// A decision has a grant exactly when it allows, and holds its directory open
// exactly as long as the command may still run.
func FuzzNarrow(f *testing.F) {
	f.Add([]byte{2, 1, 0, 2})
	f.Add([]byte{1, 2, 2})
	f.Add([]byte{0, 2})
	f.Add([]byte{9, 255})
	f.Fuzz(func(t *testing.T, effects []byte) {
		for began, decide := range narrowed(t) {
			d, w := decide()
			if d.Effect != began {
				t.Fatalf("it begins with %s, not with %s", d.Effect, began)
			}
			least := began
			for _, e := range effects {
				effect := policy.Effect(int8(e)) // some values are not valid effects
				d.Narrow(policy.Finding{Rule: "outside", Effect: effect, Msg: "m", Hint: "h"})
				least = max(policy.Deny, min(least, effect))
				if d.Effect != least {
					t.Fatalf("from %s by %v: %s, not %s", began, effects, d.Effect, least)
				}
				_, granted := d.Grant()
				_, asked := d.Case()
				if granted != (least == policy.Allow) || asked != (least != policy.Deny) || (d.Refusal() == nil) != granted {
					t.Fatalf("from %s by %v: grant %t, case %t, refusal %v", began, effects, granted, asked, d.Refusal())
				}
				if open := w.closed.Load() == 0; open != (least != policy.Deny) {
					t.Fatalf("from %s by %v: %s with its directory open: %t", began, effects, d.Effect, open)
				}
			}
			if g, ok := d.Grant(); ok {
				g.Close()
			}
			d.Close()
			d.Close()
			if n := w.closed.Load(); n != 1 {
				t.Fatalf("from %s by %v: the directory was closed %d times", began, effects, n)
			}
		}
	})
}

func TestNothingMakesAZeroDecisionAllow(t *testing.T) {
	var d policy.Decision
	d.Narrow(policy.Finding{Rule: "outside", Effect: policy.Allow})
	if _, ok := d.Grant(); ok || d.Effect != policy.Deny {
		t.Errorf("it became %s", d.Effect)
	}
}

// TestWhoIsAskedBesideThePolicyIsToldWhatWouldRun: every field.
func TestWhoIsAskedBesideThePolicyIsToldWhatWouldRun(t *testing.T) {
	req := terminal("npm", "test")
	req.ID, req.Tool, req.Session, req.Dir, req.DirGiven, req.Timeout = "cmd_1", "terminal_execute_command", "term-1", "src", true, time.Second
	req.Env, req.Fixed, req.Stdin = []string{"CI=true", "PATH=x"}, []string{"CAWS_TASK_ID=t"}, []byte("x")
	req.OfSession = []string{"PATH=x"}
	req.Origin = tipstaff.Origin{Front: "stdio", Principal: "me", Client: "c/1", Agent: "a", Task: "t"}
	d := decide(t, allowing("npm"), req)
	got, ok := d.Case()
	if !ok || got.Policy != d.Digest || got.Policy == "" {
		t.Fatalf("%t: %+v", ok, got)
	}
	want := policy.Case{
		ID: "cmd_1", Tool: req.Tool, Family: tipstaff.Terminal, Origin: req.Origin, Session: "term-1",
		Argv: []string{"npm", "test"}, File: "/usr/bin/npm", Dir: "/work/src", Vars: []string{"CI"}, Dropped: []string{"PATH"},
		Stdin: true, Timeout: time.Second, Effect: policy.Allow, Rule: "default", Policy: d.Digest,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asking := policy.NewAsking(server()).Decide(req, allowing("npm"))
	defer asking.Close()
	if got, ok := asking.Case(); !ok || got.Effect != policy.Ask || got.Rule != "asking" || got.At != "here" {
		t.Errorf("of a decision to ask: %+v", got)
	}
}

// TestAnApprovalIsForTheReasonThatWasGiven: a person who allowed what the
// policy asks about has not allowed what a decider asks about since then.
func TestAnApprovalIsForTheReasonThatWasGiven(t *testing.T) {
	frozen := policy.Finding{Rule: "decider", Effect: policy.Ask, Msg: "the release is frozen"}
	digest := func(findings ...policy.Finding) string {
		d := policy.NewAsking(server()).Decide(terminal("npm"), allowing("npm"))
		defer d.Close()
		d.Narrow(findings...)
		q, ok := d.Question()
		if !ok {
			t.Fatal("nobody is asked")
		}
		return q.Digest
	}
	plain := digest(policy.Finding{Rule: "decider", Effect: policy.Allow})
	if first, again := digest(frozen), digest(frozen); plain != digest() || first != again {
		t.Error("the same is not the same")
	}
	if digest(frozen) == plain {
		t.Error("an approval without the decider's reason counts for it")
	}
}
