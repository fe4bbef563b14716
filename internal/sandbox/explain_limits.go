//go:build linux

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"

	"tipstaff"
)

const (
	timeStep = 10 * 1000 * 1000 // ns
	// Exit codes by which a shell reports a program that a signal ended.
	exitXCPU = 128 + int(unix.SIGXCPU)
	exitXFSZ = 128 + int(unix.SIGXFSZ)
)

// explainLimit reports limits by what the kernel has counted, and by the signals
// that it sends for them.
func (c *Confined) explainLimit(r *tipstaff.Result) {
	l, g := c.session.settings.limits, c.session.settings.group
	if n := r.Usage.RefusedProcesses; n > 0 && g.Processes > 0 {
		r.Refusals = append(r.Refusals, fmt.Sprintf("It met the limit of processes, %d for the whole command: the kernel refused to make another (%d times).", g.Processes, n))
	}
	used := r.Usage.UserCPU + r.Usage.SystemCPU
	switch {
	case r.Usage.OutOfMemory && g.MemoryBytes > 0:
		if r.Cause == tipstaff.Signalled {
			r.Cause = tipstaff.MemoryLimit
		}
		r.Refusals = append(r.Refusals, fmt.Sprintf("It was ended by the limit of memory, %d bytes for the whole command; its peak was %d.", g.MemoryBytes, r.Usage.PeakBytes))
	case l.CPU > 0 && (r.Signal == "SIGXCPU" || r.ExitCode == exitXCPU || r.Signal == "SIGKILL" && r.Cause == tipstaff.Signalled && used >= l.CPU):
		if r.Signal != "" {
			r.Cause = tipstaff.CPULimit
		}
		r.Refusals = append(r.Refusals, fmt.Sprintf("It was ended by the limit of processor time, %v for each process; it had used %v.", l.CPU, used.Round(timeStep)))
	case l.FileBytes > 0 && (r.Signal == "SIGXFSZ" || r.ExitCode == exitXFSZ):
		if r.Signal != "" {
			r.Cause = tipstaff.FileSizeLimit
		}
		r.Refusals = append(r.Refusals, fmt.Sprintf("It was ended by the limit of a file's size, %d bytes.", l.FileBytes))
	case l.MemoryBytes > 0 && g.MemoryBytes == 0 && r.ExitCode != 0 && r.Usage.MaxResidentBytes > l.MemoryBytes/10*7:
		r.Refusals = append(r.Refusals, fmt.Sprintf("It may have run into the limit of memory, %d bytes for each process; its peak was %d.", l.MemoryBytes, r.Usage.MaxResidentBytes))
	}
}
