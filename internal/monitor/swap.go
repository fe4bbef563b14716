package monitor

import "tipstaff/internal/policy"

// judges is a policy together with the decider that is consulted beside it.
type judges struct {
	policy  *policy.Policy
	decider Decider
}

// Swap makes p and d decide from now on; d may be nil. Commands that are
// already decided keep their grants, and a decision that has begun ends with
// the policy and the decider with which it began.
func (m *Monitor) Swap(p *policy.Policy, d Decider) { m.swapped.Store(&judges{p, d}) }

// Current returns the policy that decides now.
func (m *Monitor) Current() *policy.Policy { return m.current().policy }

func (m *Monitor) current() judges {
	if now := m.swapped.Load(); now != nil {
		return *now
	}
	return judges{m.Policy, m.Decider}
}
