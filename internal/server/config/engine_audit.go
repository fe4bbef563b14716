package config

import "strings"

// Values of TIPSTAFF_ENGINE_AUDIT.
const (
	auditCopy   = "copy"   // in the background
	auditStrict = "strict" // a command starts when its record is in the stream
	auditOff    = "off"
)

// alone is the value of TIPSTAFF_ENGINE_ROLES for a server that is no part of
// the fleet, and only copies its trail.
const alone = "none"

func (r *reader) engineAudit() string {
	const name = "TIPSTAFF_ENGINE_AUDIT"
	v := r.text(name, auditCopy)
	if v != auditCopy && v != auditStrict && v != auditOff {
		r.fault(name, "must be copy (the trail is copied to the engine's streams, and no command waits for that), strict (a command starts when its record is there) or off")
	}
	return v
}

// Copies reports whether trails are copied to the engine's streams.
func (e Engine) Copies() bool {
	return len(e.Servers) > 0 && e.Audit != auditOff && !e.IsOperator()
}

// CopiesTo is where trails are copied, for people; "": nowhere.
func (e Engine) CopiesTo() string {
	if !e.Copies() {
		return ""
	}
	return strings.Join(e.Servers, ",")
}

// AuditStrict reports whether commands wait for the copies of their records.
func (e Engine) AuditStrict() bool { return e.Copies() && e.Audit == auditStrict }
