//go:build unix

package plainfile

import (
	"errors"
	"syscall"
)

const (
	nonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
	noFollow    = syscall.O_NOFOLLOW
	directory   = syscall.O_DIRECTORY
)

// wouldBlock reports whether open(2) did not wait for the end of a lease.
func wouldBlock(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
