//go:build !linux || !(amd64 || arm64)

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"tipstaff"
)

// statusOf translates what os/exec reports. An error other than that of an exit code
// means that the end was not observed.
func statusOf(state *os.ProcessState, err error) Status {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Status{Err: err}
	}
	s := Status{
		ExitCode: state.ExitCode(),
		Usage: tipstaff.Usage{
			UserCPU:   state.UserTime(),
			SystemCPU: state.SystemTime(),
		},
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		s.ExitCode, s.Signal, s.CoreDumped = 0, int(ws.Signal()), coreDumped(ws)
		s.SignalName = signalName(ws.Signal())
	}
	s.Usage.MaxResidentBytes = maxResident(state)
	return s
}
