package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"tipstaff/internal/argv"
	"tipstaff/internal/audit"
	"tipstaff/internal/config"
	"tipstaff/internal/sink"
)

// auditStatus is what doctor says of the record.
type auditStatus struct {
	Dir        string       `json:"dir"`
	Key        string       `json:"key,omitempty"` // public; "" before the first server
	Durability string       `json:"durability"`
	Sinks      []sinkStatus `json:"sinks,omitempty"`
	Recordings bool         `json:"recordings"`
	Error      string       `json:"error,omitempty"` // why no server could keep a record

	advice string // what to do about the error
}

// sinkStatus is what doctor says of one place that records are handed on to.
type sinkStatus struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"` // why it cannot be reached now
}

// reachLimit is how long all sinks together may take to be reached.
const reachLimit = 5 * time.Second

// examineSinks tries to reach where records are handed on to. They get no record.
func examineSinks(ctx context.Context, s config.Settings) ([]sinkStatus, error) {
	sinks, err := sinksOf(s)
	if err != nil {
		return nil, err
	}
	ctx, done := context.WithTimeout(ctx, reachLimit)
	defer done()
	var all []sinkStatus
	for _, r := range sink.Reach(ctx, sinks) {
		one := sinkStatus{Name: r.Name}
		if r.Err != nil {
			one.Error = r.Err.Error()
		}
		all = append(all, one)
	}
	return all, nil
}

// examineAudit looks whether a server could keep its record, and makes nothing
// that stays.
func examineAudit(ctx context.Context, s config.Settings) auditStatus {
	a := auditStatus{Dir: s.AuditDir(), Durability: s.AuditDurability, Recordings: s.Recordings}
	_, err := audit.ParseDurability(s.AuditDurability)
	if err != nil {
		err = fmt.Errorf("TIPSTAFF_AUDIT_DURABILITY: %w", err)
	} else {
		a.Sinks, err = examineSinks(ctx, s)
	}
	if err != nil {
		a.Error, a.advice = err.Error(), "no server starts with this setting"
		return a
	}
	if a.Key, err = audit.PublicKey(a.Dir); err == nil {
		err = canWrite(a.Dir)
	}
	if err != nil {
		a.Error, a.advice = err.Error(), "make the directory writable for this user, or set TIPSTAFF_STATE_DIR to one that is"
	}
	return a
}

// canWrite tries to write in a directory; one that does not exist is made by the
// first server.
func canWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func (a auditStatus) print(w io.Writer) {
	if a.Error != "" {
		say(w, "✘ record: no server could keep one in %s, and without it nothing runs: %s", a.Dir, a.Error)
		say(w, "  %s", a.advice)
		return
	}
	say(w, "✔ record: %s (%s)", a.Dir, a.Durability)
	if a.Key == "" {
		say(w, "  the first server makes the key that signs it")
	} else {
		say(w, "  signed by %s", a.Key)
	}
	for _, one := range a.Sinks {
		if one.Error == "" {
			say(w, "  handed on to %s", one.Name)
		} else {
			say(w, "! handed on to %s, which cannot be reached now: %s", one.Name, argv.Escape(one.Error))
			say(w, "  a server keeps trying, and no command waits for it; the record itself is complete")
		}
	}
	if a.Recordings {
		say(w, "  what commands print is kept as well (TIPSTAFF_RECORDINGS)")
	}
}
