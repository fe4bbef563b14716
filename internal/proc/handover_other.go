//go:build !unix

package proc

import "syscall"

// newSession does nothing: programs of this system get no signals of our terminal.
func newSession() *syscall.SysProcAttr { return nil }
