//go:build unix

package proc

import "syscall"

// apart puts a program into a process session of its own, so that keys of our
// terminal send it no signals.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
