package sandbox

import (
	"log/slog"
	"path/filepath"

	"tipstaff"
	"tipstaff/internal/proc"
	"tipstaff/internal/profile"
)

// Options are what the operator has chosen, and what is known of the machine.
type Options struct {
	Engine  *proc.Engine
	Mode    Mode
	Tier    Tier // at least this, with Require; with BestEffort at most this. None: the best
	Profile profile.Profile
	Machine profile.Machine
	// Workspace is what commands may change: the roots of the settings. Where it
	// is empty, it is the server's own directory and that of the command.
	Workspace []string
	Directory string // the server's own
	// Guarded are files by which commands could give themselves rights. They are
	// hidden where mounts can do that without closing what is around them.
	Guarded []string
	// Search are the directories in which programs are found.
	Search  []string
	Network Network
	Limits  Limits
	// Unguarded leaves out the guard of what steers programs outside: only to measure
	// what that costs.
	Unguarded bool
	Temp      string // where the directory for temporary files is made
	Log       *slog.Logger
}

// aside is where the guard keeps what it puts back: for as long as the server lives
// where nothing else is kept either.
func (o Options) aside(scratch string) string {
	if o.Machine.StateDir == "" {
		return filepath.Join(scratch, "aside")
	}
	return filepath.Join(o.Machine.StateDir, "aside")
}

// Command is what the sandbox has to know of a command.
type Command struct {
	Principal string             // who asks; what one does no other one sees
	Session   tipstaff.SessionID // "" without one
	Dir       string             // canonical
	// Workspace is what the command may change, canonical, where a policy says so;
	// else it is that of the options.
	Workspace []string
	Env       []string
	// Stop ends the command, and waits for nothing: it may have changed a file that
	// steers programs outside of the sandbox. nil: there is no such way.
	Stop  func()
	Terms Terms // of the rule that allows it
}

func (c Command) stop() func() {
	if c.Stop == nil {
		return func() {}
	}
	return c.Stop
}

// Status says how commands are confined, and why not better.
type Status struct {
	Tier    string `json:"tier"`
	Mode    string `json:"mode"`
	Profile string `json:"profile"`
	Network string `json:"network"`
	// Reason says why it is not a better tier; "" if it is the best, or as good
	// as was asked for.
	Reason string `json:"reason,omitempty"`
	// Landlock says what the ruleset restricts; "" without Landlock.
	Landlock string `json:"landlock,omitempty"`
	// Missing is what Landlock of this kernel cannot restrict.
	Missing []string      `json:"missing,omitempty"`
	Limits  *LimitsStatus `json:"limits,omitempty"` // nil without a sandbox
	Notes   []string      `json:"notes,omitempty"`
	Paths   profile.Paths `json:"paths,omitzero"`

	tier Tier
}

// LimitsStatus says by what the memory and the processes of commands are bounded.
type LimitsStatus struct {
	Memory    string `json:"memory"`
	Processes string `json:"processes"`
	// Reason says why not both by the control group of each command, and what to do
	// about it; "" if they are, or would be if there were limits.
	Reason string `json:"reason,omitempty"`
}

func newStatus(o Options) Status {
	return Status{Tier: None.String(), Mode: o.Mode.String(), Profile: o.Profile.String(), Network: o.Network.String()}
}
