//go:build unix

package proc

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName returns a name such as "SIGTERM"; real-time signals have only
// numbers.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return "SIG" + strconv.Itoa(int(s))
}
