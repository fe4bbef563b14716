package main

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"tipstaff/internal/audit"
	"tipstaff/internal/config"
)

// auditStatus is what doctor says of the record.
type auditStatus struct {
	Dir        string `json:"dir"`
	Key        string `json:"key,omitempty"` // public; "" before the first server
	Durability string `json:"durability"`
	Sinks      string `json:"sinks,omitempty"`
	Recordings bool   `json:"recordings"`
	Error      string `json:"error,omitempty"` // why no server could keep a record
}

// examineAudit looks whether a server could keep its record, and makes nothing
// that stays.
func examineAudit(s config.Settings) auditStatus {
	a := auditStatus{Dir: s.AuditDir(), Durability: s.AuditDurability, Sinks: s.AuditSinks, Recordings: s.Recordings}
	if _, err := audit.ParseDurability(s.AuditDurability); err != nil {
		a.Error = "TIPSTAFF_AUDIT_DURABILITY: " + err.Error()
		return a
	}
	var err error
	a.Key, err = audit.PublicKey(a.Dir)
	if err == nil {
		err = canWrite(a.Dir)
	}
	if err != nil {
		a.Error = err.Error()
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
		say(w, "  make the directory writable for this user, or set TIPSTAFF_STATE_DIR to one that is")
		return
	}
	say(w, "✔ record: %s (%s)", a.Dir, a.Durability)
	if a.Key == "" {
		say(w, "  the first server makes the key that signs it")
	} else {
		say(w, "  signed by %s", a.Key)
	}
	if a.Sinks != "" {
		say(w, "  handed on to %s", a.Sinks)
	}
	if a.Recordings {
		say(w, "  what commands print is kept as well (TIPSTAFF_RECORDINGS)")
	}
}
