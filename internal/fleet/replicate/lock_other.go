//go:build !unix

package replicate

import "os"

// lock does nothing: there are no locks here that end with their process. So the
// trail of a dead process cannot be told from that of a living one.
func lock(*os.File) error { return nil }

// adopts says whether trails of processes that have ended can be recognized.
// Here they cannot: a copy that a process did not finish is not continued, and
// doctor counts it.
const adopts = false

// create makes a state file. No other process takes it.
func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// publish does nothing: the file has its name, and one that is open cannot be
// renamed here.
func publish(*os.File, string) error { return nil }
