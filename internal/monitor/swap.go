package monitor

import "tipstaff/internal/policy"

// judges are who decide together: a policy, and who is asked beside it.
type judges struct {
	policy  *policy.Policy
	decider Decider
}

// Swap lets p decide from now on, and d be asked beside it; nil: nobody is.
// Commands that are decided on keep what they were granted; a decision that is
// being made ends by the policy and the decider by which it began.
func (m *Monitor) Swap(p *policy.Policy, d Decider) { m.swapped.Store(&judges{p, d}) }

// Current is the policy that decides now.
func (m *Monitor) Current() *policy.Policy { return m.current().policy }

func (m *Monitor) current() judges {
	if now := m.swapped.Load(); now != nil {
		return *now
	}
	return judges{m.Policy, m.Decider}
}
