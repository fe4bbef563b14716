package tipstaff

import "time"

type (
	// RequestID names one asked command in the record. The monitor makes it.
	RequestID string
	// SessionID is the handle of a terminal session, "" outside of one.
	SessionID string
	// Tool is the name of the tool or subcommand through which a command was asked.
	Tool string
)

// Family says whose rules a request follows: each family has an allowlist,
// limits and argument rules of its own (contract, parts A and B). The zero
// Family belongs to nobody, and everything asked in its name is denied.
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
	// "" where nobody is connected.
	Call  string
	Trace Trace // that the call belongs to
}

// Request is what a caller asks, as asked: nothing in it has been checked.
type Request struct {
	ID      RequestID
	Session SessionID
	Origin  Origin
	Tool    Tool
	Family  Family

	// Line is a command line that the policy splits into words. It is used
	// when Argv is nil; exactly one of the two is given.
	Line string
	// Argv is the program's name and its arguments.
	Argv []string

	// Dir is where to run. It counts only when DirGiven is set, because the
	// empty string is a directory that somebody asked for and does not exist.
	Dir      string
	DirGiven bool

	// Env holds the variables that the caller adds, each "NAME=value".
	Env []string
	// Dropped names variables that its session was asked for and does not have. They
	// decide nothing; an answer explains by them what a program misses.
	Dropped []string
	// Fixed holds variables that the server adds and a caller cannot
	// override, each "NAME=value".
	Fixed []string

	// Stdin is written to the program, then closed. nil means /dev/null.
	Stdin []byte

	// Timeout counts from the start of the command; 0 asks for the default.
	// A policy may refuse it, never lengthen it.
	Timeout time.Duration
}
