package monitor

import (
	"context"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

func TestWhatIsPermittedForAnotherMachineIsNeitherRunNorRecordedAndARefusalIsRecorded(t *testing.T) {
	j := &journal{}
	m := newMonitor(j)
	if _, err := m.Permit(t.Context(), ask("echo", "hi"), run.Live{}); err != nil {
		t.Errorf("an allowed command: %v", err)
	}
	j.want(t)
	req := ask("curl", "x")
	req.ID = "cmd_given"
	_, err := m.Permit(t.Context(), req, run.Live{})
	if tipstaff.AsError(err).Code != tipstaff.CommandNotAllowed {
		t.Errorf("a command that is not allowed: %v", err)
	}
	j.want(t, "command.refused")
	if j.last.Trace.CommandID != "cmd_given" || j.last.Who.Principal != "me" {
		t.Errorf("the record says %+v %+v", j.last.Trace, j.last.Who)
	}
}

func TestACommandHasTheNameThatItWasGivenAndElseANewOne(t *testing.T) {
	j := &journal{}
	m := newMonitor(j)
	var named []tipstaff.RequestID
	live := run.Live{Observer: run.Observer{Named: func(id tipstaff.RequestID) { named = append(named, id) }}}
	req := ask("echo", "hi")
	req.ID = "cmd_given"
	_, _ = m.Execute(t.Context(), req, live)
	m.NewID = func() tipstaff.RequestID { return "cmd_here" }
	_, _ = m.Execute(t.Context(), ask("echo", "hi"), live)
	if len(named) != 2 || named[0] != "cmd_given" || named[1] != "cmd_here" || j.last.Trace.CommandID != "cmd_here" {
		t.Errorf("named %v", named)
	}
}

// TestWhatAPersonHasAllowedCountsOnceMoreForACallThatComesAgain: a gateway's policy and
// a runner's ask both, and the call comes once for each answer.
func TestWhatAPersonHasAllowedCountsOnceMoreForACallThatComesAgain(t *testing.T) {
	j := &journal{}
	m, _ := newAskingMonitor(j, false)
	asked := 0
	yes := run.Live{Asker: run.Asker{Ask: func(context.Context, policy.Question) (policy.Answer, error) {
		asked++
		return policy.Answer{Choice: policy.Once, By: "ann", How: policy.ByElicitation}, nil
	}}}
	again, err := m.Permit(t.Context(), ask("echo", "push"), yes)
	if err != nil || asked != 1 {
		t.Fatalf("%v, asked %d times", err, asked)
	}
	again()
	if _, err := m.Permit(t.Context(), ask("echo", "push", "other"), yes); err != nil || asked != 2 {
		t.Errorf("another command: %v, asked %d times", err, asked)
	}
	if again, err = m.Permit(t.Context(), ask("echo", "push"), run.Live{}); err != nil || asked != 2 {
		t.Fatalf("the same one: %v, asked %d times", err, asked)
	}
	if _, err := m.Permit(t.Context(), ask("echo", "push"), run.Live{}); err == nil {
		t.Error("it has counted twice")
	}
	again()
	if _, err := m.Permit(t.Context(), ask("echo", "push"), run.Live{}); err != nil || asked != 2 {
		t.Errorf("given back once more: %v", err)
	}
}
