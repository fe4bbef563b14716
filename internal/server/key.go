package server

import (
	"errors"
	"log/slog"
	"os"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/redact"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/server/config"
)

// ReplaceKey replaces the key, and records that in a trail of its own.
func ReplaceKey(s config.Settings, because string) (key *audit.Key, err error) {
	secrets := redact.New(redact.Secrets(s.Environ))
	if key, err = audit.NewKey(s.AuditDir(), secrets.Text(because), time.Now()); err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	observers, err := newObservers(s, log)
	if err != nil {
		return nil, err
	}
	defer observers.close()
	modes := sandbox.NewModeGuard(log)
	defer func() { err = errors.Join(err, modes.Close()) }()
	trail, err := newTrail(s, log, observers, secrets, modes)
	if err != nil {
		return nil, err
	}
	by := &audit.Person{Name: OSUser(), UID: os.Getuid(), How: audit.PersonFile}
	err = trail.Append(audit.Record{Event: audit.KeyReplaced, Person: by, Why: because})
	return key, errors.Join(err, trail.Close())
}
