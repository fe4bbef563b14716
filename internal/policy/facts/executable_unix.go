//go:build unix

package facts

import (
	"fmt"

	"golang.org/x/sys/unix"

	"tipstaff/internal/policy"
)

// executable returns the identity of the file at path, if the server may
// execute it.
func executable(path string) (policy.FileID, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return policy.FileID{}, policy.ErrNotFound
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return policy.FileID{}, fmt.Errorf("%w: %w", policy.ErrNotExecutable, policy.ErrNoFile)
	}
	if unix.Access(path, unix.X_OK) != nil {
		return policy.FileID{}, policy.ErrNotExecutable
	}
	return policy.FileID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}, nil
}
