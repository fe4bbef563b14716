package config

import (
	"path/filepath"
	"time"
)

// Settings are what the operator has chosen.
type Settings struct {
	AllowedCommands string // ALLOWED_COMMANDS, as it is written
	AllowedRoots    string // ALLOWED_CWD_ROOTS, as it is written

	ExecuteDefaultTimeout time.Duration // TIPSTAFF_DEFAULT_TIMEOUT
	ExecuteMaxTimeout     time.Duration // TIPSTAFF_MAX_TIMEOUT; 0: no ceiling

	Terminal               bool          // ENABLE_TERMINAL_ACCESS
	AllowlistPath          string        // TERMINAL_ALLOWLIST_PATH
	TerminalDefaultTimeout time.Duration // TERMINAL_DEFAULT_TIMEOUT
	TerminalMaxTimeout     time.Duration // TERMINAL_MAX_TIMEOUT
	MaxOutputBytes         int           // TERMINAL_MAX_OUTPUT_SIZE, for both families
	MaxSessions            int           // TERMINAL_MAX_SESSIONS
	SessionIdle            time.Duration // TIPSTAFF_SESSION_IDLE

	MaxConcurrent int // TIPSTAFF_MAX_CONCURRENT: commands at once; 0: four for each processor

	Arguments string // TIPSTAFF_ARGUMENTS, as it is written
	StateDir  string // TIPSTAFF_STATE_DIR
	Path      string // PATH

	Environ []string // the whole environment of the server, each "NAME=value"
}

// AuditDir is where the trails lie.
func (s Settings) AuditDir() string { return filepath.Join(s.StateDir, "audit") }
