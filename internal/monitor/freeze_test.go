package monitor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/freeze"
	"tipstaff/internal/run"
)

// frozen freezes one principal, or cannot tell.
type frozen struct {
	who string
	err error
}

func (f frozen) Of(o tipstaff.Origin, _ tipstaff.SessionID) (freeze.Entry, bool, error) {
	return freeze.Entry{Why: "It deletes."}, o.Principal == f.who, f.err
}

func TestACommandOfAFrozenCallerIsRefusedBeforeItIsJudged(t *testing.T) {
	j := &journal{}
	m := newMonitor(j)
	m.Freezer = frozen{who: "me"}
	m.Decider = deciderFunc(func() { t.Error("the decider was asked") })
	named := tipstaff.RequestID("")
	_, err := m.Execute(t.Context(), ask("echo", "hi"), run.Live{Observer: run.Observer{Named: func(id tipstaff.RequestID) { named = id }}})
	e := tipstaff.AsError(err)
	if e.Code != tipstaff.Frozen || !strings.Contains(e.Msg, "A person has frozen you") || !strings.Contains(e.Msg, "It deletes.") || !strings.Contains(e.Hint, "Do not try again") {
		t.Errorf("%+v", e)
	}
	j.want(t, "command.refused")
	if r := j.last; r.Code != tipstaff.Frozen || r.Decision.Rule != "freeze" || r.Decision.Action != "deny" || r.Trace.CommandID != named || r.What.Argv[0] != "echo" || r.Named() != audit.SecurityViolation {
		t.Errorf("%+v", r)
	}
	_, err = m.AdmitSession(tipstaff.Session{Origin: tipstaff.Origin{Principal: "me"}})
	if tipstaff.AsError(err).Code != tipstaff.Frozen {
		t.Errorf("a session: %v", err)
	}
	req := ask()
	req.Script = "echo hi"
	if _, err = m.Judge(t.Context(), req, nil); tipstaff.AsError(err).Code != tipstaff.Frozen {
		t.Errorf("a line of a client's own shell: %v", err)
	}
	if _, err := m.Permit(t.Context(), ask("echo", "hi"), run.Live{}); tipstaff.AsError(err).Code != tipstaff.Frozen {
		t.Errorf("a command for another machine: %v", err)
	}
	j.want(t, "command.refused", "session.refused", "command.refused", "command.refused")
}

func TestOthersThanAFrozenCallerGoOn(t *testing.T) {
	j := &journal{}
	m := newMonitor(j)
	m.Freezer = frozen{who: "you"}
	if _, err := m.Execute(t.Context(), ask("echo", "hi"), run.Live{}); err != nil {
		t.Error(err)
	}
	j.want(t, "command.start", "run echo hi", "command.end")
}

func TestWhereItCannotBeToldWhoIsFrozenNothingRuns(t *testing.T) {
	j := &journal{}
	m := newMonitor(j)
	m.Freezer = frozen{err: errors.New("/secret/place: no such thing")}
	_, err := m.Execute(t.Context(), ask("echo", "hi"), run.Live{})
	e := tipstaff.AsError(err)
	if e.Code != tipstaff.Frozen || strings.Contains(e.Msg+e.Hint, "/secret") {
		t.Errorf("%+v", e)
	}
	j.want(t, "command.refused")
	if !strings.Contains(j.last.Error, "/secret/place") {
		t.Errorf("the operator is not told: %+v", j.last)
	}
}

func TestAFreezeIsNotLiftedWithoutARecord(t *testing.T) {
	j := &journal{broken: errors.New("the disk is full")}
	m := newMonitor(j)
	by := tipstaff.Person{Name: "ann", UID: 7}
	e := freeze.Entry{Target: freeze.Target{Agent: "a"}, Why: "why"}
	if err := m.FreezeLifted(e, by); tipstaff.AsError(err).Code != tipstaff.NotRecorded {
		t.Error(err)
	}
	m.FreezeSet(e, by) // comes into force even so
	j.broken = nil
	if err := m.FreezeLifted(e, by); err != nil || j.last.Person.UID != 7 || j.last.Person.How != "host" || j.last.Who.Agent != "a" {
		t.Errorf("%v %+v", err, j.last)
	}
}

type deciderFunc func()

func (f deciderFunc) Judge(context.Context, policy.Case) policy.Finding {
	f()
	return policy.Finding{}
}
