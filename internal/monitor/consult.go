package monitor

import (
	"context"

	"tipstaff/internal/policy"
)

// Decider judges commands in addition to the policy. Judge must return soon
// after ctx is done, and must deny what it cannot judge.
type Decider interface {
	Judge(ctx context.Context, c policy.Case) policy.Finding
}

// consult lets the decider narrow a decision. It skips decisions to refuse.
func (j judges) consult(ctx context.Context, d *policy.Decision) {
	if j.decider == nil {
		return
	}
	if c, ok := d.Case(); ok {
		d.Narrow(j.decider.Judge(ctx, c))
	}
}
