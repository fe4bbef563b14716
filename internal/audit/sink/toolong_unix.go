//go:build unix

package sink

import "syscall"

var errTooLong error = syscall.EMSGSIZE
