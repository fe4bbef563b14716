package monitor

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/policy"
	"tipstaff/internal/runner"
)

// Trail takes records. Append returns when the record is written.
type Trail interface {
	Append(r audit.Record) error
}

// Monitor carries commands down the road. Its fields are set before its first
// use; its methods may be called from many goroutines at once.
type Monitor struct {
	Policy *policy.Policy // decides until [Monitor.Swap], as does Decider
	World  policy.World
	Trail  Trail
	Runner runner.Runner
	// Sandbox is how a command is confined, for the record.
	Sandbox func(*policy.Grant) audit.Sandbox
	// Decider is asked about every command that the policy does not refuse, and
	// can only narrow; nil: nobody is.
	Decider Decider
	// Approver finds out what people say where the policy leaves a command to
	// them; nil: nobody is asked, and such commands are refused.
	Approver Approver
	Log      *slog.Logger

	swapped atomic.Pointer[judges]
	running sync.WaitGroup
}

// Execute decides on req, hears the decider, asks a person where the policy or
// the decider leaves it to one, and, if it is allowed, records the intent, runs the
// command and records how it ended. An error is a [*tipstaff.Error]: nothing
// was started. A command that ran, however it ended, is a Result.
func (m *Monitor) Execute(ctx context.Context, req tipstaff.Request, live runner.Live) (tipstaff.Result, error) {
	m.running.Add(1)
	defer m.running.Done()
	req.ID = newID()

	decide := m.current()
	decision := decide.policy.Decide(req, m.World)
	defer decision.Close()
	decide.consult(ctx, &decision)
	grant, err := m.permission(ctx, decide.policy, &req, &decision, live)
	if err != nil {
		return tipstaff.Result{}, err
	}
	defer grant.Close()

	if err := m.Trail.Append(m.intent(grant, &decision)); err != nil {
		return tipstaff.Result{}, notRecorded(err)
	}
	res, err := m.Runner.Run(ctx, grant, live)
	m.note(m.outcome(grant, &decision, &res, err))
	return res, err
}

// Explain tells what would be decided, and touches nothing else.
func (m *Monitor) Explain(req tipstaff.Request) policy.Decision {
	return m.Current().Decide(req, m.World)
}

// Wait returns when no command is on the road.
func (m *Monitor) Wait() { m.running.Wait() }

// refuse records a refusal and gives it to the caller. It stands, recorded or not.
func (m *Monitor) refuse(req *tipstaff.Request, d *policy.Decision, err error) error {
	m.note(refused(req, d, tipstaff.AsError(err)))
	return err
}

// NoteRefusal records a call that came to nothing before it could be judged:
// arguments that are none, a session that does not exist or is busy.
func (m *Monitor) NoteRefusal(req tipstaff.Request, err error) {
	e := tipstaff.AsError(err)
	r := asked(audit.CallRefused, &req)
	r.Code, r.Why, r.Error = e.Code, e.Msg, operatorText(e)
	r.Decision = audit.Decision{Action: policy.Deny.String(), Rule: e.Rule}
	if req.Family != "" {
		r.Name = audit.CommandFailed // every command that is asked has a name (contract B14)
	}
	m.note(r)
}

// note records what has happened already. When it cannot be recorded, the
// operator hears of it; the next command will be refused by the trail itself.
func (m *Monitor) note(r audit.Record) {
	if err := m.Trail.Append(r); err != nil {
		m.Log.Error("cannot write the audit trail", "event", string(r.Event), "command_id", string(r.Trace.CommandID), "error", err)
	}
}

func notRecorded(err error) error {
	return &tipstaff.Error{
		Code: tipstaff.NotRecorded, Rule: "record", Err: err,
		Msg:  "The audit trail cannot be written, so nothing was started.",
		Hint: "No record, no run: the operator has to make room for the trail or mend its directory. Then the same call works again.",
	}
}

func newID() tipstaff.RequestID { return tipstaff.RequestID("cmd_" + rand.Text()) }
