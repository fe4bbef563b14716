//go:build !unix

package host

import "tipstaff/internal/policy"

// executable finds nothing on systems whose files this package cannot identify.
func executable(string) (policy.FileID, error) { return policy.FileID{}, policy.ErrNotFound }
