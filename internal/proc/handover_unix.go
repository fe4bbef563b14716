//go:build unix

package proc

import "syscall"

// newSession puts a program into a process session of its own, so that keys of our
// terminal send it no signals.
func newSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
