package audit

import "tipstaff"

// Name is the contract's name (B14) of an event. Every command that was asked
// leads to exactly one of the last three.
type Name string

const (
	SessionCreated    Name = "terminal:session:created"    // a session was created
	SessionClosed     Name = "terminal:session:closed"     // a session was closed
	CommandExecuted   Name = "terminal:command:executed"   // it ran and ended by itself, with any exit code
	CommandFailed     Name = "terminal:command:failed"     // it could not be started, or was ended
	SecurityViolation Name = "terminal:security:violation" // refused by policy
)

// Named returns the name of r, or the one that the trail will give it; "" for events
// that have none.
func (r *Record) Named() Name {
	if r.Name != "" {
		return r.Name
	}
	return r.name()
}

// name derives r's name. The intent and the server's own records have none.
func (r *Record) name() Name {
	switch r.Event {
	case SessionCreate:
		return SessionCreated
	case SessionClose:
		return SessionClosed
	case CommandEnd:
		if r.Result != nil && r.Result.Cause == tipstaff.Exited.String() {
			return CommandExecuted
		}
		return CommandFailed
	case CommandReported:
		if r.Reported != nil && (r.Reported.Outcome == ReportCompleted || r.Reported.ExitCode != nil) {
			return CommandExecuted
		}
		return CommandFailed
	case CommandRefused:
		if r.byPolicy() {
			return SecurityViolation
		}
		return CommandFailed
	case SessionRefused:
		if r.byPolicy() {
			return SecurityViolation
		}
	case CommandError, CommandLost:
		return CommandFailed
	}
	return ""
}

// byPolicy reports whether a request was refused for what it would do, not for
// a fault in the request itself.
func (r *Record) byPolicy() bool {
	switch r.Code {
	case tipstaff.CommandNotAllowed, tipstaff.UnsafeArguments, tipstaff.DirectoryNotAllowed, tipstaff.Frozen:
		return true
	case tipstaff.ApprovalDenied: // the policy left it to a person, who refused
		return r.Decision.Approval != nil && r.Decision.Approval.Outcome == "denied"
	}
	return false
}
