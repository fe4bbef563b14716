package tipstaff

import "time"

type (
	// RequestID names one requested command in the record. The monitor makes
	// it.
	RequestID string
	// SessionID is the handle of a terminal session, "" outside of one.
	SessionID string
	// Tool is the name of the tool or subcommand that the request came through.
	Tool string
)

// Family says which rules a request follows: each family has its own allowlist,
// limits and argument rules (contract, parts A and B). The zero Family has no
// rules, and every request with it is denied.
type Family string

const (
	// Execute is the family of execute_command and execute_process.
	Execute Family = "execute"
	// Terminal is the family of the terminal_* tools.
	Terminal Family = "terminal"
)

// Origin says where a request comes from. Front, Principal and Client are
// established by the front; Agent, Task and Trace are the caller's own claims.
type Origin struct {
	Front     string // "stdio", "http", "cli"
	Principal string // the authenticated caller
	Client    string // name and version that the protocol client gave
	Agent     string
	Task      string
	// Call says which call of which connection it is, as <connection>/<number>;
	// "" without a connection.
	Call  string
	Trace Trace // the trace that the call belongs to
}

// Request is what a caller asks, as asked: nothing in it has been checked.
type Request struct {
	ID RequestID
	// Parent is the script that the command belongs to; "" for what a caller asks
	// for itself.
	Parent  RequestID
	Session SessionID
	Origin  Origin
	Tool    Tool
	Family  Family

	// Line is a command line that the policy splits into words. It is used when
	// Argv is nil; exactly one of Line, Argv and Script is set.
	Line string
	// Argv is the program's name and its arguments.
	Argv []string
	// Script is a text in the language of Bash. Each command that it comes to is a
	// request of its own, with this one as its Parent.
	Script string

	// Dir is the working directory. It counts only when DirGiven is set: an
	// empty string with DirGiven set is a directory that was asked for and does
	// not exist.
	Dir      string
	DirGiven bool

	// Env holds the variables that the caller adds, each "NAME=value".
	Env []string
	// Unset names variables that a script has taken away from its command.
	Unset []string
	// Writes lists the regular files that a command of a script can write from its
	// start, by descriptors that it is handed: the redirections of the script.
	Writes []string
	// Dropped names variables that were requested for the session and that it
	// does not have. They decide nothing; an answer uses them to explain what a
	// program is missing.
	Dropped []string
	// Fixed holds variables that the server adds and a caller cannot
	// override, each "NAME=value".
	Fixed []string

	// Stdin is written to the program, then closed. nil means /dev/null.
	Stdin []byte

	// Timeout counts from the start of the command; 0 asks for the default. A
	// policy may refuse it but never lengthens it. For a command of a script, it is
	// that of the script, and a lower limit of the policy counts instead.
	Timeout time.Duration
}
