//go:build !tipstaff_test_ask

package main

import "tipstaff/internal/policy"

// moreRules are rules beside the contract's.
func moreRules() []policy.Rule { return nil }
