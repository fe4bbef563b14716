package tipstaff

import "time"

// SessionState says what a terminal session is doing, judged by its last
// command.
type SessionState string

const (
	SessionIdle      SessionState = "idle" // no command has been started yet
	SessionRunning   SessionState = "running"
	SessionCompleted SessionState = "completed" // the last command exited with 0
	SessionFailed    SessionState = "failed"    // the last command failed or was ended
)

// Session is a terminal session as it stands at one moment: a directory and
// variables for the commands of one task, owned by one principal.
type Session struct {
	ID     SessionID
	Origin Origin // the owner, and the task and agent that the session is for

	Dir      string // canonical
	DirGiven bool   // Dir was requested; otherwise it is the server's own directory
	Env      []string
	Dropped  []string // names of variables that were asked for and are not passed on
	// DroppedWhy says for each of Dropped why it is not passed on, in a
	// sentence for the caller.
	DroppedWhy []string

	State       SessionState
	Created     time.Time
	LastCommand time.Time // zero before the first command
	Commands    int       // how many commands were started
}
