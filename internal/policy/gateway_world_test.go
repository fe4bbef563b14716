package policy_test

import (
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
)

func TestAGatewayRefusesWhatItsPolicyRefusesAndNothingThatOnlyTheMachineKnows(t *testing.T) {
	p := policy.New(policy.Settings{
		Limits:      map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {DefaultTimeout: time.Second, MaxTimeout: time.Minute, OutputBytes: 1000}},
		Environment: policy.NewEnvironment(nil, "/bin"), Roots: "/srv",
	})
	w := policy.GatewayWorld{
		Allowed: func(tipstaff.Family) policy.Allowlist { return policy.ParseAllowlist("git,ls", "ALLOWED_COMMANDS") },
		Within:  []string{"/srv"},
	}
	for _, tc := range []struct {
		name string
		req  tipstaff.Request
		want policy.Effect
	}{
		{"an allowed name", tipstaff.Request{Argv: []string{"git", "status"}}, policy.Allow},
		{"a name that is not allowed", tipstaff.Request{Argv: []string{"curl", "x"}}, policy.Deny},
		{"a path with an allowed name, which the machine judges", tipstaff.Request{Argv: []string{"/opt/x/git", "status"}}, policy.Allow},
		{"a path with another name", tipstaff.Request{Argv: []string{"/opt/x/curl"}}, policy.Deny},
		{"a pattern, which may match nothing there", tipstaff.Request{Line: "ls *.c"}, policy.Allow},
		{"an operator of a shell", tipstaff.Request{Line: "ls | git"}, policy.Deny},
		{"a directory that may be there", tipstaff.Request{Argv: []string{"ls"}, Dir: "a/b", DirGiven: true}, policy.Allow},
		{"a directory outside of the roots", tipstaff.Request{Argv: []string{"ls"}, Dir: "/etc", DirGiven: true}, policy.Deny},
		{"a way out of the roots", tipstaff.Request{Argv: []string{"ls"}, Dir: "../etc", DirGiven: true}, policy.Deny},
		{"more time than there is", tipstaff.Request{Argv: []string{"ls"}, Timeout: time.Hour}, policy.Deny},
	} {
		tc.req.Family, tc.req.Tool = tipstaff.Execute, "execute_process"
		d := p.Decide(tc.req, w)
		if d.Effect != tc.want {
			t.Errorf("%s: %v, by %+v", tc.name, d.Effect, d.Deciding())
		}
		d.Close()
	}
}
