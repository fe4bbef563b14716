package approval_test

import (
	"context"
	"strings"
	"testing"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
	"tipstaff/internal/policy/approval/approvaltest"
)

// direct asks the store itself, and checks that each verdict fits what the caller reads.
type direct struct {
	*testing.T
	*approval.Store
}

func (d direct) Request(ctx context.Context, principal, command string, person approval.Ask) (tipstaff.Code, string) {
	a, err := d.Approve(ctx, approvaltest.Question(principal, command), "", person)
	code, text := approvaltest.Refusal(err)
	want := policy.Unasked
	switch {
	case err == nil:
		want = policy.Granted
	case code == tipstaff.ApprovalRequired:
		want = policy.Pending
	case strings.Contains(text, "said no"):
		want = policy.Denied
	case strings.Contains(text, "in time"):
		want = policy.Expired
	}
	if v := a.Verdict(); v.Outcome != want || want == policy.Granted && v.By != "ann" {
		d.Errorf("%s: the verdict is %+v, with the error %v", command, v, err)
	}
	return code, text
}

func TestAStoreKeepsThePromisesOfApprovals(t *testing.T) {
	approvaltest.Suite(t, func(t *testing.T, s *approval.Store) approvaltest.Requester { return direct{t, s} })
}
