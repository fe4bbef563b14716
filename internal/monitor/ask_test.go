package monitor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
	"tipstaff/internal/policy/approval/approvaltest"
	"tipstaff/internal/run"
)

// leftToPeople is a rule of the tests: a command with the word "push" is
// left to a person.
type leftToPeople struct{}

func (leftToPeople) Judge(_ *tipstaff.Request, _ policy.World, d *policy.Draft) []policy.Finding {
	if slices.Contains(d.Argv, "push") {
		return []policy.Finding{{Rule: "test/push", At: "policy.yaml:3", Effect: policy.Ask, Msg: "Pushing is seen by others."}}
	}
	return nil
}

// newAskingMonitor is a monitor whose policy asks, and the store it asks through.
func newAskingMonitor(j *journal, host bool) (*Monitor, *approval.Store) {
	m := newMonitor(j)
	m.Policy = policy.New(settings(leftToPeople{}))
	store := approval.NewStore(approval.Options{Host: func() bool { return host }, OnLapse: m.NoteLapse})
	m.Approver = store
	return m, store
}

func says(a policy.Answer) run.Live {
	return run.Live{Asker: run.Asker{Ask: func(context.Context, policy.Question) (policy.Answer, error) { return a, nil }}}
}

func TestACommandThatAPersonAllowsRunsAndTheRecordSaysWho(t *testing.T) {
	j := &journal{}
	m, _ := newAskingMonitor(j, false)
	_, err := m.Execute(t.Context(), ask("echo", "push"), says(policy.Answer{Choice: policy.Once, By: "ann", How: policy.ByElicitation}))
	if err != nil {
		t.Fatal(err)
	}
	j.want(t, "command.asked", "command.start", "run echo push", "command.end")
	d := j.last.Decision
	if a := d.Approval; d.Action != "allow" || d.Rule != "test/push" || d.At != "policy.yaml:3" || a == nil || a.By != "ann" || a.How != "elicitation" ||
		a.Choice != "once" || a.Outcome != "granted" || !strings.HasPrefix(a.Handle, "apr_") {
		t.Errorf("recorded as %+v, %+v", d, a)
	}
}

func TestWhatIsNotApprovedDoesNotRun(t *testing.T) {
	for name, c := range map[string]struct {
		live    run.Live
		host    bool
		steps   string
		code    tipstaff.Code
		outcome string
		told    string
	}{
		"a person says no":           {says(policy.Answer{Comment: "not on a Friday", By: "ann"}), false, "command.asked, command.refused", tipstaff.ApprovalDenied, "denied", "not on a Friday"},
		"nobody can be asked":        {run.Live{}, false, "command.refused", tipstaff.ApprovalDenied, "unasked", "nobody can be asked"},
		"only the host can be asked": {run.Live{}, true, "command.refused", tipstaff.ApprovalRequired, "pending", "nothing ran yet"},
		"the client cannot ask after all": {run.Live{Asker: run.Asker{Ask: func(context.Context, policy.Question) (policy.Answer, error) {
			return policy.Answer{}, errors.New("method not found")
		}}}, true, "command.asked, command.refused", tipstaff.ApprovalRequired, "pending", "nothing ran yet"},
		"an unknown handle": {run.Live{Asker: run.Asker{Approval: "apr_x"}}, true, "command.refused", tipstaff.ApprovalRequired, "pending", "nothing ran yet"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &journal{}
			m, _ := newAskingMonitor(j, c.host)
			_, err := m.Execute(t.Context(), ask("echo", "push"), c.live)
			if e := tipstaff.AsError(err); e.Code != c.code || !strings.Contains(e.Msg, c.told) {
				t.Errorf("the caller was told %v", err)
			}
			j.want(t, strings.Split(c.steps, ", ")...)
			if a := j.last.Decision.Approval; a == nil || a.Outcome != c.outcome || j.last.Decision.Action != "ask" || j.last.Code != c.code {
				t.Errorf("recorded as %+v, %+v", j.last, a)
			}
		})
	}
}

func TestNoPersonAllowsWhatThePolicyDenies(t *testing.T) {
	j := &journal{}
	m, _ := newAskingMonitor(j, true)
	_, err := m.Execute(t.Context(), ask("rm", "push"), says(policy.Answer{Choice: policy.Session}))
	if tipstaff.AsError(err).Code != tipstaff.CommandNotAllowed {
		t.Errorf("the caller was told %v", err)
	}
	j.want(t, "command.refused")
}

func TestNobodyIsAskedWithoutARecord(t *testing.T) {
	j := &journal{broken: errors.New("no space left on device")}
	m, _ := newAskingMonitor(j, true)
	asked := false
	_, err := m.Execute(t.Context(), ask("echo", "push"), run.Live{Asker: run.Asker{Ask: func(context.Context, policy.Question) (policy.Answer, error) {
		asked = true
		return policy.Answer{Choice: policy.Once}, nil
	}}})
	if tipstaff.AsError(err).Code != tipstaff.NotRecorded || asked {
		t.Errorf("asked: %t; the caller was told %v", asked, err)
	}
}

// requester asks a monitor.
type requester struct{ *Monitor }

func (r requester) Request(ctx context.Context, principal, command string, person approval.Ask) (tipstaff.Code, string) {
	req := ask("echo", "push", command)
	req.Origin.Principal = principal
	_, err := r.Execute(ctx, req, run.Live{Asker: run.Asker{Ask: person}})
	return approvaltest.Refusal(err)
}

func TestAMonitorKeepsThePromisesOfApprovals(t *testing.T) {
	approvaltest.Suite(t, func(_ *testing.T, s *approval.Store) approvaltest.Requester {
		m, _ := newAskingMonitor(&journal{}, false)
		m.Approver = s
		return requester{m}
	})
}

func TestAnApprovalOfTheHostIsOnTheRecord(t *testing.T) {
	j := &journal{}
	m, store := newAskingMonitor(j, true)
	_, err := m.Execute(t.Context(), ask("echo", "push"), run.Live{})
	open := store.List()
	if tipstaff.AsError(err).Code != tipstaff.ApprovalRequired || len(open) != 1 {
		t.Fatalf("%v, %d questions are open", err, len(open))
	}
	if _, err := store.Answer(open[0].Handle, "", policy.Answer{Choice: policy.Once, By: "root", How: policy.ByHost}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Execute(t.Context(), ask("echo", "push"), run.Live{}); err != nil {
		t.Fatal(err)
	}
	if a := j.last.Decision.Approval; a == nil || a.By != "root" || a.How != "host" || a.Handle != open[0].Handle {
		t.Errorf("recorded as %+v", a)
	}
}

func TestAQuestionThatIsHandedOnAndForgottenIsOnTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		m, _ := newAskingMonitor(j, false)
		later := run.Live{Asker: run.Asker{Ask: func(context.Context, policy.Question) (policy.Answer, error) {
			return policy.Answer{}, approval.ErrLater
		}}}
		if _, err := m.Execute(t.Context(), ask("echo", "push"), later); !errors.Is(err, approval.ErrLater) {
			t.Fatal(err)
		}
		j.want(t, "command.asked")
		time.Sleep(approval.DefaultWait + time.Second)
		synctest.Wait()
		j.want(t, "command.asked", "command.refused")
		if r := j.last; r.Decision.Approval.Outcome != "expired" || r.Named() != audit.CommandFailed || r.What.Argv[1] != "push" {
			t.Errorf("recorded as %+v", r)
		}
	})
}
