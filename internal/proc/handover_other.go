//go:build !unix

package proc

import "syscall"

// apart does nothing: programs of this system get no signals of our terminal.
func apart() *syscall.SysProcAttr { return nil }
