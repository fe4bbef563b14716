package run

import (
	"tipstaff"
	"tipstaff/internal/proc"
)

// timeoutExit is the exit code of a command whose time was up, as in
// timeout(1).
const timeoutExit = 124

// unknownExit is the exit code of a command whose end could not be observed: it must
// not look like success.
const unknownExit = 255

// resultOf makes a result from why the wait ended and how the program ended. A program
// that ended just as it was about to be stopped counts as stopped, because its caller
// learns that the time was up.
func resultOf(cause tipstaff.Cause, st proc.Status) tipstaff.Result {
	r := tipstaff.Result{Cause: cause, ExitCode: st.ExitCode, Usage: st.Usage}
	if st.Signal != 0 {
		r.ExitCode, r.Signal, r.CoreDumped = 128+st.Signal, st.SignalName, st.CoreDumped
	}
	switch {
	case st.Err != nil:
		r.Cause, r.ExitCode = tipstaff.Unknown, unknownExit
	case cause == tipstaff.TimedOut:
		r.ExitCode = timeoutExit
	case cause == tipstaff.Exited && st.Signal != 0:
		r.Cause = tipstaff.Signalled
	}
	return r
}
