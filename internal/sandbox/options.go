package sandbox

import (
	"log/slog"
	"path/filepath"
	"time"

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
	// Own gives tipstaff's own files as they are now; nil: there are none but those
	// of Machine. It is asked whenever commands are to be confined anew.
	Own func() []profile.Own
	// Opened is told what commands may read and write, before one of them does;
	// mounts says whether what is pinned stays as it is. nil: it is not told.
	Opened func(paths profile.Paths, mounts bool)
	// Search are the directories in which programs are found.
	Search  []string
	Network Network
	Limits  Limits
	Temp    string // where the directory for temporary files is made
	Log     *slog.Logger
	// Modes keeps the modes of the server's directories in the tier that does not
	// see chmod; nil: nothing keeps them.
	Modes *Modes
	// Unguarded leaves out the guard of what steers programs outside: only to measure
	// what that costs.
	Unguarded bool
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
	Program   string             // its path
	// Workspace is what the command may change, canonical, where a policy says so;
	// else it is that of the options.
	Workspace []string
	Env       []string
	// Patience is how long the command waits for a sandbox; 0: as long as it takes.
	Patience time.Duration
	// Stop ends the command, and waits for nothing: it may have changed a file that
	// steers programs outside of the sandbox. nil: there is no such way.
	Stop  func()
	Terms Terms // of the rule that allows it
	// Doors are those of this command alone; [Terms.Doors] has to be set.
	Doors []Door
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
	// Protection says by what files that steer programs outside of the sandbox are
	// protected; "" where none are.
	Protection string `json:"protection,omitempty"`
	// Weaker says why not better; "" if it is the best there is.
	Weaker string `json:"weaker,omitempty"`
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
