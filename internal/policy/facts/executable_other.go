//go:build !unix

package facts

import "tipstaff/internal/policy"

// executable always fails, because this package cannot identify files on this
// system.
func executable(string) (policy.FileID, error) { return policy.FileID{}, policy.ErrNotFound }
