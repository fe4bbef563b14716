package decider

import (
	"context"
	"errors"

	"tipstaff/internal/policy"
)

// Judge judges commands in addition to the policy, and denies what it cannot
// judge. [Client] is one. Several goroutines may call it at once.
type Judge interface {
	Judge(ctx context.Context, c policy.Case) policy.Finding
}

// errNone tells the operator that a list of deciders is empty.
var errNone = errors.New("no decider is set")

// Strictest asks several deciders, one after the other, and returns the
// strictest of their findings: a denial overrides all others, and a question to
// a person overrides permission. Among equal findings the first counts; where
// several ask for a person, the person is shown all reasons. The empty
// Strictest denies.
type Strictest []Judge

// Judge asks the deciders in order and stops at the first that denies; a
// decider that fails denies. It returns when ctx is done, as each of the
// deciders does. Several goroutines may call it at once.
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
