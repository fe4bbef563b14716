package monitor

import (
	"context"

	"tipstaff/internal/policy"
)

// Decider judges commands beside the policy, from outside of it. Judge returns
// when ctx is done at the latest, and denies what it cannot judge.
type Decider interface {
	Judge(ctx context.Context, c policy.Case) policy.Finding
}

// consult lets the decider narrow a decision. It is asked about nothing that is
// refused anyway.
func (j judges) consult(ctx context.Context, d *policy.Decision) {
	if j.decider == nil {
		return
	}
	if c, ok := d.Case(); ok {
		d.Narrow(j.decider.Judge(ctx, c))
	}
}
