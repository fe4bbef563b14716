package audit

import "tipstaff"

// Name is the name that the contract (B14) gives to an event. Every command
// that was asked comes to exactly one of the last three.
type Name string

const (
	SessionCreated    Name = "terminal:session:created"
	SessionClosed     Name = "terminal:session:closed"
	CommandExecuted   Name = "terminal:command:executed"   // it ran and ended by itself, whatever its exit code
	CommandFailed     Name = "terminal:command:failed"     // it could not be started, or was ended
	SecurityViolation Name = "terminal:security:violation" // refused by policy
)

// Named gives the name that stands on r, or that the trail will give it.
func (r *Record) Named() Name {
	if r.Name != "" {
		return r.Name
	}
	return r.name()
}

// name gives r's name. The intent and the server's own records have none.
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
	case CommandRefused:
		if r.byPolicy() {
			return SecurityViolation
		}
		return CommandFailed
	case SessionRefused:
		if r.byPolicy() {
			return SecurityViolation
		}
	case CommandError:
		return CommandFailed
	}
	return ""
}

// byPolicy tells what was refused for what it would do from what was refused
// for a fault in how it was asked.
func (r *Record) byPolicy() bool {
	switch r.Code {
	case tipstaff.CommandNotAllowed, tipstaff.UnsafeArguments, tipstaff.DirectoryNotAllowed:
		return true
	case tipstaff.ApprovalDenied: // the policy left it to a person, who has refused
		return r.Decision.Approval != nil && r.Decision.Approval.Outcome == "denied"
	}
	return false
}
