package runner

import (
	"tipstaff"
	"tipstaff/internal/proc"
)

// timeoutExit is the exit code of a command whose time was up, as timeout(1) has it.
const timeoutExit = 124

// resultOf turns why the wait ended and how the program ended into a result.
// A program that ended in the moment in which it was to be stopped still
// counts as stopped: its caller was told that the time is up.
func resultOf(cause tipstaff.Cause, st proc.Status) tipstaff.Result {
	r := tipstaff.Result{Cause: cause, ExitCode: st.ExitCode, Usage: st.Usage}
	if st.Signal != 0 {
		r.ExitCode, r.Signal, r.CoreDumped = 128+st.Signal, st.SignalName, st.CoreDumped
	}
	switch {
	case st.Err != nil:
		r.Cause = tipstaff.Unknown
	case cause == tipstaff.TimedOut:
		r.ExitCode = timeoutExit
	case cause == tipstaff.Exited && st.Signal != 0:
		r.Cause = tipstaff.Signalled
	}
	return r
}
