//go:build unix

package facts

import "golang.org/x/sys/unix"

// mayWrite reports whether the server's user may write what is at path. If it
// does not exist, the result for the directory around it decides; the caller
// asks for that too.
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }
