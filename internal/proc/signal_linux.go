//go:build linux && (amd64 || arm64)

package proc

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Signal sends a signal to the program itself, not to what it started. It fails once
// the program has ended. It may be called beside the other methods.
func (p *Process) Signal(s syscall.Signal) error {
	raw, err := p.pidfd.SyscallConn()
	if err != nil {
		return fmt.Errorf("cannot send a signal: %w", err)
	}
	var sent error
	if err = raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), s, nil, 0) }); err == nil {
		err = sent
	}
	if err != nil {
		return fmt.Errorf("cannot send a signal: %w", err)
	}
	return nil
}
