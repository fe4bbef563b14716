package policy_test

import (
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
)

// TestA4TimeoutsAreUsedAsGivenOrRefused: A4 and B4; never a silent clamp.
func TestA4TimeoutsAreUsedAsGivenOrRefused(t *testing.T) {
	for _, c := range []struct {
		says   string
		family tipstaff.Family
		asked  time.Duration
		want   string
	}{
		{"nothing asked", tipstaff.Execute, 0, "30s"},
		{"nothing asked of the other family", tipstaff.Terminal, 0, "1m0s"},
		{"a long time without a ceiling", tipstaff.Execute, 24 * time.Hour, "24h0m0s"},
		{"exactly what is asked", tipstaff.Execute, 1234 * time.Millisecond, "1.234s"},
		{"the ceiling", tipstaff.Terminal, 5 * time.Minute, "5m0s"},
		{"above the ceiling", tipstaff.Terminal, 300_001 * time.Millisecond, "INVALID_PARAMETERS: the timeout of 300001 ms is above the ceiling of 300000 ms | Ask for at most 300000 ms, and split work that takes longer."},
		{"negative", tipstaff.Execute, -5 * time.Millisecond, "INVALID_PARAMETERS: the timeout of -5 ms is not positive | Give a positive whole number of milliseconds, or leave it out."},
	} {
		t.Run(c.says, func(t *testing.T) {
			d := decide(t, allowing("ls"), tipstaff.Request{Family: c.family, Argv: []string{"ls"}, Timeout: c.asked})
			got := answer(d)
			if grant, ok := d.Grant(); ok {
				got = grant.Timeout().String()
			}
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestWithoutLimitsNothingRuns: the zero settings deny.
func TestWithoutLimitsNothingRuns(t *testing.T) {
	w := allowing("ls")
	for _, s := range []policy.Settings{
		{}, {Environment: server().Environment},
		{Limits: map[tipstaff.Family]policy.FamilyLimits{tipstaff.Execute: {}}, Environment: server().Environment},
		{Limits: serverLimits()},
	} {
		if d := policy.New(s).Decide(execute("ls"), w); d.Effect != policy.Deny {
			t.Errorf("%+v: allowed", s)
		}
	}
	if opened, want := w.closed.Load(), int32(2); opened != want {
		t.Errorf("%d directories closed, want %d", opened, want)
	}
}
