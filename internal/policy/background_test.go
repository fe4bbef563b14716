package policy_test

import (
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
)

// TestACommandInTheBackgroundLivesForADayOrAsThePolicySays: the ceilings of the
// settings are for calls that wait; those of the file hold for both.
func TestACommandInTheBackgroundLivesForADayOrAsThePolicySays(t *testing.T) {
	plain := "version: 1\ncommands: {ls: {allow: ['*']}}\n"
	for _, c := range []struct {
		says, file string
		family     tipstaff.Family
		asked      time.Duration
		want       string
	}{
		{"nothing asked", plain, tipstaff.Execute, 0, "24h0m0s"},
		{"nothing asked of the family with a ceiling", plain, tipstaff.Terminal, 0, "24h0m0s"},
		{"less", plain, tipstaff.Terminal, time.Hour, "1h0m0s"},
		{"a day and a bit", plain, tipstaff.Execute, 24*time.Hour + time.Millisecond, "INVALID_PARAMETERS: the timeout of 86400001 ms is above the ceiling of 86400000 ms | Ask for at most 86400000 ms, and split work that takes longer."},
		{"an older file's ceiling", plain + "limits: {max_timeout: 10m}\n", tipstaff.Execute, 0, "10m0s"},
		{"the file's own word", plain + "limits: {max_timeout: 10m, background_time: 2h}\n", tipstaff.Execute, 0, "2h0m0s"},
		{"above the file's word", plain + "limits: {background_time: 2h}\n", tipstaff.Execute, 3 * time.Hour, "INVALID_PARAMETERS: the timeout of 10800000 ms is above the ceiling of 7200000 ms | Ask for at most 7200000 ms, and split work that takes longer."},
		{"the file cannot say more than a day", plain + "limits: {background_time: 48h}\n", tipstaff.Execute, 0, "24h0m0s"},
	} {
		t.Run(c.says, func(t *testing.T) {
			w := allowing()
			for f, l := range w.allowed {
				l.Absent = true
				w.allowed[f] = l
			}
			d := with(t, c.file).Decide(tipstaff.Request{Family: c.family, Argv: []string{"ls"}, Timeout: c.asked, Background: true}, w)
			got := answer(d)
			if grant, ok := d.Grant(); ok {
				got = grant.Timeout().String()
				grant.Close()
			}
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestBackgroundDenyHoldsForEveryLayerAndForCommandsOfScripts.
func TestBackgroundDenyHoldsForEveryLayerAndForCommandsOfScripts(t *testing.T) {
	p := with(t, "version: 1\ncommands: {ls: {allow: ['*'], background: deny, tty: deny}, timeout: {allow: ['{int} *']}}\n")
	for _, c := range []struct {
		says string
		req  tipstaff.Request
		want policy.Effect
	}{
		{"the control", tipstaff.Request{Argv: []string{"timeout", "5", "ls"}}, policy.Allow},
		{"itself", tipstaff.Request{Argv: []string{"ls"}, Background: true}, policy.Deny},
		{"behind a wrapper", tipstaff.Request{Argv: []string{"timeout", "5", "ls"}, Background: true}, policy.Deny},
		{"on a terminal", tipstaff.Request{Argv: []string{"timeout", "5", "ls"}, Terminal: &tipstaff.TerminalSize{Rows: 24, Columns: 80}}, policy.Deny},
		{"of a script", tipstaff.Request{Argv: []string{"ls"}, Parent: "cmd_1", Background: true}, policy.Deny},
	} {
		w := allowing()
		for f, l := range w.allowed {
			l.Absent = true
			w.allowed[f] = l
		}
		c.req.Family = tipstaff.Execute
		d := p.Decide(c.req, w)
		if d.Effect != c.want {
			t.Errorf("%s: %s", c.says, answer(d))
		}
		if g, ok := d.Grant(); ok {
			g.Close()
		}
	}
}
