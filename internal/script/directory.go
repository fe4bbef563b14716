package script

import "os"

// directory is a directory in the session sandbox's own temporary directory: a
// [tipstaff/internal/policy.Private].
type directory struct {
	*os.File
	path string
}

func (d directory) Path() string { return d.path }

// Private returns true.
func (directory) Private() bool { return true }
