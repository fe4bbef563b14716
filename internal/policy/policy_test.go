package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tipstaff"
	"tipstaff/internal/policy"
)

// TestAGrantIsWhatWasDecided: every field, for a command that may run.
func TestAGrantIsWhatWasDecided(t *testing.T) {
	req := terminal("npm", "test")
	req.ID, req.Dir, req.DirGiven, req.Timeout, req.Env = "cmd_1", "src", true, time.Second, []string{"CI=true", "PATH=x"}
	req.OfSession = []string{"PATH=x"}
	d := decide(t, allowing("npm"), req)
	grant, ok := d.Grant()
	if !ok {
		t.Fatal(answer(d))
	}
	if diff := cmp.Diff(&req, grant.Request()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if grant.Program().Path != "/usr/bin/npm" || grant.Dir().Path() != "/work/src" || grant.Timeout() != time.Second || grant.OutputBytes() != 1<<20 {
		t.Errorf("%+v in %s for %s with %d bytes", grant.Program(), grant.Dir().Path(), grant.Timeout(), grant.OutputBytes())
	}
	if !cmp.Equal(grant.Argv(), []string{"npm", "test"}) || !cmp.Equal(grant.Dropped(), []string{"PATH"}) || !cmp.Equal(d.Dropped, grant.Dropped()) {
		t.Errorf("%q, dropped %q", grant.Argv(), grant.Dropped())
	}
	if len(d.Findings) != 0 || d.Refusal() != nil {
		t.Errorf("findings: %+v", d.Findings)
	}
}

// TestB13CommandFirstThenArguments: every rule says what it found, and the
// command decides before the arguments, the arguments before the rest.
func TestB13CommandFirstThenArguments(t *testing.T) {
	req := terminal("rm", "$(x)", "\x00")
	req.Dir, req.DirGiven, req.Timeout, req.Env = "/nowhere", true, time.Hour, []string{"=x"}
	d := decide(t, allowing("npm"), req)
	var rules []string
	for _, f := range d.Findings {
		rules = append(rules, f.Rule)
	}
	want := []string{"allowlist", "structure/nul", "arguments/substitution", "directory", "environment", "timeout"}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Deciding().Code != tipstaff.CommandNotAllowed {
		t.Error(answer(d))
	}
	req.Argv[0] = "npm"
	if d := decide(t, allowing("npm"), req); d.Deciding().Code != tipstaff.UnsafeArguments {
		t.Error(answer(d))
	}
}

// TestTheZeroFamilyBelongsToNobody.
func TestTheZeroFamilyBelongsToNobody(t *testing.T) {
	settings := server()
	settings.Limits[""] = settings.Limits[tipstaff.Execute]
	settings.Limits["other"] = settings.Limits[tipstaff.Execute]
	for _, family := range []tipstaff.Family{"", "other", "unknown"} {
		w := allowing("ls")
		w.allowed[family] = policy.Allowlist{Any: true}
		d := policy.New(settings).Decide(tipstaff.Request{Family: family, Argv: []string{"ls"}}, w)
		if d.Effect != policy.Deny || d.Deciding().Code != tipstaff.Internal {
			t.Errorf("%q: %s", family, answer(d))
		}
	}
}

// TestADecisionHasNoState: the same question has the same answer, many times
// and from many goroutines.
func TestADecisionHasNoState(t *testing.T) {
	p, w := policy.New(server()), allowing("npm")
	answers := make(chan string)
	for range 8 {
		go func() {
			d := p.Decide(terminal("npm", "test `id`"), w)
			answers <- answer(d)
		}()
	}
	first := <-answers
	for range 7 {
		if got := <-answers; got != first {
			t.Errorf("once %s, once %s", first, got)
		}
	}
}

func serverLimits() map[tipstaff.Family]policy.FamilyLimits { return server().Limits }
