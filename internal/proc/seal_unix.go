//go:build unix && !linux

package proc

import "syscall"

// Seal marks all descriptors that the server was started with close-on-exec, so
// that none reaches a command. Call it once, before the first Start.
func Seal() {
	for fd := 3; fd < 1024; fd++ {
		syscall.CloseOnExec(fd)
	}
}
