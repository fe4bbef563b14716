//go:build tipstaff_test_ask

package main

import (
	"slices"

	"tipstaff"
	"tipstaff/internal/policy"
)

// moreRules of a build for tests: what has the word "needs-a-person" among its
// arguments is left to one.
func moreRules() []policy.Rule { return []policy.Rule{needsAPerson{}} }

type needsAPerson struct{}

func (needsAPerson) Judge(_ *tipstaff.Request, _ policy.World, d *policy.Draft) []policy.Finding {
	if !slices.Contains(d.Argv, "needs-a-person") {
		return nil
	}
	return []policy.Finding{{Rule: "test/ask", At: "test build", Effect: policy.Ask, Msg: "The test wants a person for this."}}
}
