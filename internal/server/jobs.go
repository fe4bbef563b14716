package server

import (
	"log/slog"

	"tipstaff/internal/output/spool"
	"tipstaff/internal/run/job"
	"tipstaff/internal/server/config"
)

// Bounds of the commands in the background at once, below the setting for all.
const (
	ownJobs     = 16 // of one principal
	sessionJobs = 8  // of one session
)

// newJobs returns what keeps the commands that run.
func newJobs(s config.Settings, outputs *spool.Store, log *slog.Logger) *job.Store {
	return job.NewStore(job.Options{
		Max: s.MaxJobs, OwnMax: min(ownJobs, s.MaxJobs), SessionMax: min(sessionJobs, s.MaxJobs), Idle: s.SessionIdle,
		Outputs: outputs, Log: log,
	})
}
