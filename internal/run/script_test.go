//go:build linux

package run

import (
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

func TestAGrantOfAScriptRunsNoProgram(t *testing.T) {
	b := newBench(t)
	b.policy = policy.New(policy.Settings{
		Limits:      map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {DefaultTimeout: 20 * time.Second, OutputBytes: 10_000}},
		Environment: policy.NewEnvironment(nil, "/bin"),
		Shell:       policy.ShellSetting{Mode: language.ShellWrite, Set: true},
	})
	g := b.grant(tipstaff.Request{Script: "testcmd echo x"})
	defer g.Close()
	if r, err := b.local.Run(t.Context(), g, Live{}); tipstaff.AsError(err).Code != tipstaff.Internal {
		t.Errorf("%+v, %v", r, err)
	}
}
