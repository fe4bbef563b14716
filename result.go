package tipstaff

import "time"

// Result is how a command ended. A command that ran and failed is a Result;
// an error is kept for what never started or whose fate is unknown.
type Result struct {
	Cause Cause
	// ExitCode is the program's own code; 128+n after signal n; 124 after a timeout.
	ExitCode int
	// Signal is the name of the signal that ended the program ("SIGKILL"), or "".
	Signal         string
	CoreDumped     bool
	Stdout, Stderr Stream
	Started        time.Time
	Duration       time.Duration
	Limit          time.Duration // the timeout that held for it
	Usage          Usage
	// Refusals say, a sentence each, what the sandbox is known to have refused
	// and which limit was reached.
	Refusals []string
	// Violations are changes of files that steer other programs, which were put back
	// while the command ran, or since the command before.
	Violations []Violation
	// MissedNetwork: it wanted hosts that it may not reach. To run it again, or for
	// longer, changes nothing.
	MissedNetwork bool
	// Recording is what was kept of the outputs as they came; zero: nothing.
	Recording Recording
	// Used says what the command did with credentials that it was lent.
	Used []CredentialUse
}

// CredentialUse is how often a command was given something by one of the
// credentials that it was lent, or was refused.
type CredentialUse struct {
	Credential string
	Given      int // passwords, signatures
	Refused    int // what was asked beside
}

// Recording is a file that holds what a command printed, as it came.
type Recording struct {
	File   string // its name, in the directory of recordings of the trail
	SHA256 string // of the file, in hexadecimal
}

// Truncated reports whether anything that the command wrote is missing.
func (r *Result) Truncated() bool { return r.Stdout.Dropped > 0 || r.Stderr.Dropped > 0 }

// Stream is what was kept of one output of a command: its beginning, and when
// Dropped bytes between are missing, its end.
type Stream struct {
	Head, Tail   []byte
	Dropped      int64 // bytes missing between Head and Tail
	DroppedLines int64 // line ends among them
}

// Total is how many bytes the command wrote.
func (s *Stream) Total() int64 { return int64(len(s.Head)) + s.Dropped + int64(len(s.Tail)) }

// Usage is what the operating system counted for a command and the
// descendants that it waited for.
type Usage struct {
	UserCPU, SystemCPU time.Duration
	MaxResidentBytes   int64
	// Of the command as a whole, where a control group bounds it. PeakBytes is the
	// most memory that it had at once, files that it left in the cache included;
	// 0: not known.
	PeakBytes        int64
	OutOfMemory      bool  // it met the limit of memory, and was ended
	RefusedProcesses int64 // how often it met the limit of processes, which does not end it
}
