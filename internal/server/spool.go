package server

import (
	"log/slog"

	"tipstaff/internal/output/spool"
	"tipstaff/internal/redact"
	"tipstaff/internal/server/config"
)

// newSpool returns what keeps the output of commands. Where its directory cannot
// be used, or the operator wants none, it keeps what fits into a little memory:
// that fails no command, and answers promise nothing then.
func newSpool(s config.Settings, secrets *redact.Redactor, log *slog.Logger) *spool.Store {
	o := spool.Options{Dir: s.SpoolDir(), MaxBytes: s.Spool.Bytes, TotalBytes: s.Spool.TotalBytes, Redactor: secrets, Log: log}
	store, err := spool.Open(o)
	if err != nil {
		log.Warn("the output of commands is not kept beyond their answers", "dir", o.Dir, "error", err)
		o.Dir = ""
		store, _ = spool.Open(o) // without a directory it does not fail
	}
	return store
}
