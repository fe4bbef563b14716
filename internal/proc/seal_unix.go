//go:build unix && !linux

package proc

import "syscall"

// Seal makes sure that no descriptor which the server itself was started with
// reaches a command. It is called once, before the first Start.
func Seal() {
	for fd := 3; fd < 1024; fd++ {
		syscall.CloseOnExec(fd)
	}
}
