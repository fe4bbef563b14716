package tipstaff

import "time"

// SessionState says what a terminal session is doing, by its last command.
type SessionState string

const (
	SessionIdle      SessionState = "idle" // no command has been started yet
	SessionRunning   SessionState = "running"
	SessionCompleted SessionState = "completed" // the last command exited with 0
	SessionFailed    SessionState = "failed"    // it did not
)

// Session is a terminal session as it stands at one moment: a directory and
// variables for the commands of one task, owned by one principal.
type Session struct {
	ID     SessionID
	Origin Origin // whose it is, and the task and agent that it is for

	Dir      string // canonical
	DirGiven bool   // asked for; else it is the server's own directory
	Env      []string
	Dropped  []string // names of variables that were asked for and are not passed on
	// DroppedWhy says of each of Dropped why, in a sentence for the caller.
	DroppedWhy []string

	State       SessionState
	Created     time.Time
	LastCommand time.Time // zero before the first command
	Commands    int       // that were started
}
