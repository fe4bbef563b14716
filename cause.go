package tipstaff

// Cause says why a command ended. The zero Cause is no success: it means that
// the fate of the command is not known.
type Cause int

const (
	Unknown       Cause = iota // not known to have ended
	Exited                     // by itself, with an exit code
	Signalled                  // by a signal that tipstaff did not send
	TimedOut                   // its time was up, and the tree was ended
	Cancelled                  // its caller or the server went away, and the tree was ended
	CPULimit                   // it had used up its processor time
	FileSizeLimit              // it wrote a file beyond the limit
	MemoryLimit                // it had used up its memory
	ProtectedFile              // it changed a file that steers programs outside of the sandbox, and the tree was ended
)

// ByLimit reports whether a limit of resources ended the command.
func (c Cause) ByLimit() bool { return c == CPULimit || c == FileSizeLimit || c == MemoryLimit }

// String gives the name that the record uses.
func (c Cause) String() string {
	switch c {
	case Exited:
		return "exited"
	case Signalled:
		return "signalled"
	case TimedOut:
		return "timed_out"
	case Cancelled:
		return "cancelled"
	case CPULimit:
		return "cpu_limit"
	case FileSizeLimit:
		return "file_size_limit"
	case MemoryLimit:
		return "memory_limit"
	case ProtectedFile:
		return "protected_file"
	default:
		return "unknown"
	}
}
