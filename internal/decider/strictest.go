package decider

import (
	"context"
	"errors"

	"tipstaff/internal/policy"
)

// Judge judges commands beside the policy, and denies what it cannot judge.
// [Client] is one.
type Judge interface {
	Judge(ctx context.Context, c policy.Case) policy.Finding
}

// errNone is for the operator: a list of deciders is empty that should not be.
var errNone = errors.New("no decider is set")

// Strictest asks several deciders, one after the other, and gives the strictest of
// their findings: one that denies overrides all, one that asks overrides those that
// allow. Of equal ones the first counts; where several ask, a person hears all
// their reasons. The empty Strictest denies.
type Strictest []Judge

// Judge asks in order and asks none behind one that denies, so an error of one, which
// denies, is final. It returns when ctx is done, as each of the deciders does. Many
// goroutines may call it at once.
func (s Strictest) Judge(ctx context.Context, c policy.Case) policy.Finding {
	if len(s) == 0 {
		return unasked(errNone)
	}
	strictest := s[0].Judge(ctx, c)
	for _, next := range s[1:] {
		if strictest.Effect == policy.Deny {
			return strictest
		}
		f := next.Judge(ctx, c)
		switch {
		case f.Effect < strictest.Effect:
			strictest = f
		case f.Effect == policy.Ask && strictest.Effect == policy.Ask:
			strictest.Msg += " " + f.Msg
		}
	}
	return strictest
}
