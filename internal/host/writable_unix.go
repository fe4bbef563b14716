//go:build unix

package host

import "golang.org/x/sys/unix"

// mayWrite reports whether the server's user may write what is at path. What is
// not there is decided by the directory around it, which is asked as well.
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }
