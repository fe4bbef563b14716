package monitor

import (
	"context"
	"errors"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

// saying is a decider that says the same of everything, and notes that it was
// asked.
type saying struct {
	j       *journal
	finding policy.Finding
	asked   policy.Case
}

func (s *saying) Judge(ctx context.Context, c policy.Case) policy.Finding {
	s.j.step("decider")
	s.asked = c
	if err := ctx.Err(); err != nil {
		return policy.Finding{Rule: "cancelled", Code: tipstaff.ExecutionError, Msg: "cancelled", Err: err}
	}
	return s.finding
}

// consulting is a monitor with a decider.
func consulting(f policy.Finding) (*Monitor, *journal, *saying) {
	j := &journal{}
	m, s := newMonitor(j), &saying{j: j, finding: f}
	m.Decider = s
	return m, j, s
}

func TestTheDeciderIsAskedBetweenTheDecisionAndTheRecord(t *testing.T) {
	m, j, s := consulting(policy.Finding{Rule: "decider", At: "d-1", Effect: policy.Allow})
	if _, err := m.Execute(t.Context(), ask("echo", "hi"), run.Live{}); err != nil {
		t.Fatal(err)
	}
	j.want(t, "decider", "command.start", "run echo hi", "command.end")
	if s.asked.ID == "" || s.asked.ID != j.last.Trace.CommandID || len(s.asked.Argv) != 2 || s.asked.File != "/bin/echo" {
		t.Errorf("it was asked %+v", s.asked)
	}
	if d := j.last.Decision; d.Action != "allow" || d.Rule != "decider" || d.At != "d-1" {
		t.Errorf("it is recorded as %+v", d)
	}
}

func TestWhatTheDeciderRefusesDoesNotRunAndIsOnTheRecord(t *testing.T) {
	for name, c := range map[string]struct {
		f      policy.Finding
		code   tipstaff.Code
		action string
	}{
		"it denies": {policy.Finding{Rule: "decider", At: "d-2", Code: tipstaff.CommandNotAllowed, Msg: "no"}, tipstaff.CommandNotAllowed, "deny"},
		"it cannot be asked": {
			policy.Finding{Rule: "decider", At: "d-2", Code: tipstaff.PolicyUnavailable, Msg: "no answer", Err: errors.New("connection refused")},
			tipstaff.PolicyUnavailable, "deny",
		},
		"it says nothing":                      {policy.Finding{}, "", "deny"},
		"it wants a person, and there is none": {policy.Finding{Rule: "decider", At: "d-2", Effect: policy.Ask, Msg: "ask"}, tipstaff.ApprovalRequired, "ask"},
	} {
		t.Run(name, func(t *testing.T) {
			m, j, _ := consulting(c.f)
			_, err := m.Execute(t.Context(), ask("echo", "hi"), run.Live{})
			if e := tipstaff.AsError(err); err == nil || e.Code != c.code || e.Msg != c.f.Msg {
				t.Errorf("the caller is told %v", err)
			}
			j.want(t, "decider", "command.refused")
			r := j.last
			if r.Code != c.code || r.Why != c.f.Msg || r.Decision.Action != c.action || r.Decision.Rule != c.f.Rule || r.Decision.At != c.f.At {
				t.Errorf("it is recorded as %+v", r)
			}
			if c.f.Err != nil && r.Error != c.f.Err.Error() {
				t.Errorf("the operator's account is %q", r.Error)
			}
		})
	}
}

func TestTheDeciderIsNotAskedAboutWhatIsRefusedAnyway(t *testing.T) {
	m, j, _ := consulting(policy.Finding{Rule: "decider", Effect: policy.Allow})
	if _, err := m.Execute(t.Context(), ask("rm", "x"), run.Live{}); tipstaff.AsError(err).Code != tipstaff.CommandNotAllowed {
		t.Errorf("the caller is told %v", err)
	}
	j.want(t, "command.refused")
}

func TestACallThatIsCancelledWhileTheDeciderIsAskedStartsNothing(t *testing.T) {
	m, j, _ := consulting(policy.Finding{Rule: "decider", Effect: policy.Allow})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Execute(ctx, ask("echo", "hi"), run.Live{}); tipstaff.AsError(err).Rule != "cancelled" {
		t.Errorf("the caller is told %v", err)
	}
	j.want(t, "decider", "command.refused")
}

// TestWhatTheDeciderAsksForAPersonMayAllow, and what was allowed for the session
// for one reason is asked about again for another.
func TestWhatTheDeciderAsksForAPersonMayAllow(t *testing.T) {
	j := &journal{}
	m, _ := newAskingMonitor(j, false)
	outside := &saying{j: j, finding: policy.Finding{Rule: "decider", At: "d-3", Effect: policy.Ask, Msg: "The release is frozen."}}
	m.Decider = outside
	req := ask("echo", "hi")
	req.Session = "term-1"
	var heard []string
	live := run.Live{Asker: run.Asker{Ask: func(_ context.Context, q policy.Question) (policy.Answer, error) {
		heard = append(heard, q.Rule+": "+q.Why)
		return policy.Answer{Choice: policy.Session, By: "ann", How: policy.ByElicitation}, nil
	}}}
	run := func() {
		t.Helper()
		if _, err := m.Execute(t.Context(), req, live); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if d := j.last.Decision; d.Rule != "decider" || d.At != "d-3" || d.Action != "allow" || d.Approval == nil || d.Approval.By != "ann" {
		t.Errorf("recorded as %+v", d)
	}
	run() // it is remembered
	if len(heard) != 1 || heard[0] != "decider: The release is frozen." {
		t.Fatalf("a person heard %q", heard)
	}
	outside.finding.Msg = "An incident is open."
	run()
	if len(heard) != 2 || heard[1] != "decider: An incident is open." {
		t.Errorf("a person heard %q", heard)
	}
	outside.finding = policy.Finding{Rule: "decider", Code: tipstaff.CommandNotAllowed, Msg: "Never."}
	if _, err := m.Execute(t.Context(), req, live); tipstaff.AsError(err).Msg != "Never." || len(heard) != 2 {
		t.Errorf("the caller is told %v, a person heard %q", err, heard)
	}
}
