package monitor

import (
	"context"

	"tipstaff"
	"tipstaff/internal/runner"
)

// Permit decides about a command that another machine will carry out, after it has
// decided itself: nil if the policy here allows it. It consults the decider and asks
// a person, as Execute does, and records what it refuses and what a person is asked;
// what it permits is recorded where it runs. It grants nothing.
func (m *Monitor) Permit(ctx context.Context, req tipstaff.Request, live runner.Live) error {
	m.running.Add(1)
	defer m.running.Done()
	req.ID = m.name(req.ID)
	live.Name(req.ID)
	if err := m.refuseFrozen(&req); err != nil {
		return err
	}

	decide := m.current()
	decision := decide.policy.Decide(req, m.world(live))
	defer decision.Close()
	decide.consult(ctx, &decision)
	grant, err := m.permission(ctx, decide.policy, &req, &decision, live)
	if err != nil {
		return err
	}
	defer grant.Close()
	if _, script := grant.Script(); script {
		if _, err := m.askAhead(ctx, decide.policy, &decision, live); err != nil {
			return m.notBegun(&req, &decision, err)
		}
	}
	return nil
}
