package server

import (
	"errors"
	"log/slog"

	"tipstaff"
	"tipstaff/internal/admin/api"
	"tipstaff/internal/audit"
	"tipstaff/internal/monitor"
	"tipstaff/internal/policy/freeze"
	"tipstaff/internal/redact"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/server/config"
)

// RecordFreezeAlone records freezes while no server runs, in a trail of its own.
func RecordFreezeAlone(s config.Settings) api.Record {
	return func(e freeze.Entry, by tipstaff.Person, lifted bool) (err error) {
		log := slog.New(slog.DiscardHandler)
		observers, err := newObservers(s, log)
		if err != nil {
			return err
		}
		defer observers.close()
		modes := sandbox.NewModeGuard(log)
		defer func() { err = errors.Join(err, modes.Close()) }()
		trail, err := newTrail(s, log, observers, redact.New(redact.Secrets(s.Environ)), modes)
		if err != nil {
			return err
		}
		event := audit.FreezeSet
		if lifted {
			event = audit.FreezeLifted
		}
		err = trail.Append(monitor.FreezeRecord(event, e, by, audit.PersonFile))
		return errors.Join(err, trail.Close())
	}
}
