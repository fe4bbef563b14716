package server

import (
	"path/filepath"

	"tipstaff/internal/audit"
	"tipstaff/internal/output/recording"
	"tipstaff/internal/redact"
	"tipstaff/internal/server/config"
)

// newRecorder returns what keeps the output of commands; nil unless the
// settings ask for it.
func newRecorder(s config.Settings, trail *audit.Trail, secrets *redact.Redactor) *recording.Recorder {
	if !s.Recordings {
		return nil
	}
	return &recording.Recorder{
		Dir:      filepath.Join(trail.Path(), recording.Directory),
		Redactor: secrets, MaxBytes: s.RecordingBytes,
	}
}
