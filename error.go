package tipstaff

import "errors"

// Code is a stable name for why nothing was started. The codes of the
// terminal_* tools are those of the contract (B13). The other codes do not
// appear in answers of these tools, or the front maps them to one that does.
type Code string

const (
	CommandNotAllowed   Code = "COMMAND_NOT_ALLOWED"
	UnsafeArguments     Code = "UNSAFE_ARGUMENTS"
	SessionNotFound     Code = "SESSION_NOT_FOUND"
	TimeoutExceeded     Code = "TIMEOUT_EXCEEDED"
	ExecutionError      Code = "EXECUTION_ERROR"
	InvalidParameters   Code = "INVALID_PARAMETERS"
	MaxSessionsExceeded Code = "MAX_SESSIONS_EXCEEDED"

	// CommandNotFound: no command has this id, for this caller.
	CommandNotFound Code = "COMMAND_NOT_FOUND"
	// CommandNotRunning: the command has ended, or takes no input any more.
	CommandNotRunning Code = "COMMAND_NOT_RUNNING"
	// TooManyCommands: no more commands may run in the background now.
	TooManyCommands Code = "TOO_MANY_COMMANDS"

	// InvalidCommandLine: a command line that cannot be split (contract A3).
	InvalidCommandLine Code = "INVALID_COMMAND_LINE"
	// DirectoryNotAllowed: a working directory that cannot be entered or lies
	// outside of the roots (A9, A10).
	DirectoryNotAllowed Code = "DIRECTORY_NOT_ALLOWED"
	// ProgramNotFound and ProgramNotExecutable: the program is allowed, but it
	// does not exist or cannot be run (A13).
	ProgramNotFound      Code = "PROGRAM_NOT_FOUND"
	ProgramNotExecutable Code = "PROGRAM_NOT_EXECUTABLE"
	// ApprovalRequired: a person has to allow it and has not done so yet.
	ApprovalRequired Code = "APPROVAL_REQUIRED"
	// ApprovalDenied: a person has refused it or did not answer in time.
	ApprovalDenied Code = "APPROVAL_DENIED"
	// Frozen: a person has frozen the caller; nothing of it runs until the freeze is
	// lifted.
	Frozen Code = "FROZEN"
	// PolicyUnavailable: the operator's decider gave no usable answer, so
	// nothing runs.
	PolicyUnavailable Code = "POLICY_UNAVAILABLE"
	// NotRecorded: the trail cannot be written, so nothing runs.
	NotRecorded Code = "NOT_RECORDED"
	// SessionLost: the runner that had the session or the command is gone; nothing
	// of this call ran.
	SessionLost Code = "SESSION_LOST"
	// Unavailable: no runner could be reached; nothing of this call ran.
	Unavailable Code = "UNAVAILABLE"
	// OutcomeUnknown: the call was sent to a runner that has fallen silent, or its
	// answer is not kept; whether it ran is not known here.
	OutcomeUnknown Code = "COMMAND_OUTCOME_UNKNOWN"
	// Busy: there is no room for the call now; nothing of it ran.
	Busy Code = "BUSY"
	// ScopeMissing: the caller has no right to this tool.
	ScopeMissing Code = "SCOPE_MISSING"
	// Internal: a fault of tipstaff itself.
	Internal Code = "INTERNAL"
)

// Error says why a request was not carried out. Msg, Hint and Details are for
// the caller and tell nothing about the host; Err is for the operator.
type Error struct {
	Code    Code
	Rule    string // the deciding rule, "" when no rule decided
	Msg     string
	Hint    string
	Details map[string]any // facts for programs; values marshal to JSON
	Err     error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Msg + ": " + e.Err.Error()
	}
	return e.Msg
}

func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error. Any other error becomes [Internal], whose
// text tells a caller nothing about the host.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: Internal, Msg: "tipstaff failed to carry out this call", Hint: "This is a fault of the server, not of the call. Try again, and tell the operator if it stays.", Err: err}
}
