package monitor

import (
	"context"
	"sync"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

// deniesAll is a policy of the tests under which nothing runs.
func deniesAll() *policy.Policy {
	return policy.New(settings(noCommand{}))
}

type noCommand struct{}

func (noCommand) Judge(*tipstaff.Request, policy.World, *policy.Draft) []policy.Finding {
	return []policy.Finding{{Rule: "test/nothing", Code: tipstaff.CommandNotAllowed, Msg: "Nothing runs."}}
}

func TestAnotherPolicyDecidesFromTheNextCommandOn(t *testing.T) {
	j := &journal{}
	m := newMonitor(j)
	if _, err := m.Execute(t.Context(), ask("echo", "a"), run.Live{}); err != nil {
		t.Fatal(err)
	}
	m.Swap(deniesAll(), nil)
	if _, err := m.Execute(t.Context(), ask("echo", "a"), run.Live{}); tipstaff.AsError(err).Rule != "test/nothing" {
		t.Errorf("the caller was told %v", err)
	}
	if d := m.Explain(ask("echo", "a")); d.Deciding().Rule != "test/nothing" {
		t.Errorf("explained as %+v", d.Deciding())
	}
	m.Swap(m.Policy, nil)
	if _, err := m.Execute(t.Context(), ask("echo", "a"), run.Live{}); err != nil {
		t.Error(err)
	}
}

// TestPoliciesChangeWhileCommandsAreDecided: for the race detector, and each
// command has one whole policy.
func TestPoliciesChangeWhileCommandsAreDecided(t *testing.T) {
	m := newMonitor(&journal{})
	other := deniesAll()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				_, err := m.Execute(t.Context(), ask("echo", "a"), run.Live{})
				if err != nil && tipstaff.AsError(err).Rule != "test/nothing" {
					t.Errorf("told %v", err)
				}
			}
		})
	}
	for i := range 200 {
		if m.Swap(other, nil); i%2 == 0 {
			m.Swap(m.Policy, nil)
		}
	}
	all.Wait()
}

// TestAnAnswerUnderAPolicyThatHasGoneIsVoid: what a person allowed was what that
// policy asked.
func TestAnAnswerUnderAPolicyThatHasGoneIsVoid(t *testing.T) {
	j := &journal{}
	m, _ := newAskingMonitor(j, false)
	live := run.Live{Asker: run.Asker{Ask: func(context.Context, policy.Question) (policy.Answer, error) {
		m.Swap(deniesAll(), nil)
		return policy.Answer{Choice: policy.Session, By: "ann"}, nil
	}}}
	_, err := m.Execute(t.Context(), ask("echo", "push"), live)
	if e := tipstaff.AsError(err); e.Code != tipstaff.ApprovalRequired || e.Hint == "" {
		t.Errorf("the caller was told %v", err)
	}
	j.want(t, "command.asked", "command.refused")
	if a := j.last.Decision.Approval; a == nil || a.Outcome != "void" || j.last.Decision.Action != "ask" {
		t.Errorf("recorded as %+v", j.last.Decision)
	}
}
