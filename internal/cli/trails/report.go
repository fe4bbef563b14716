package trails

import (
	"fmt"
	"time"

	"tipstaff/internal/audit"
)

// ReportLine describes one trail for a person.
func ReportLine(t audit.TrailReport) string {
	if s := t.Statements(); t.Status == audit.OK && len(s) > 0 {
		return retainedLine(t, s[len(s)-1])
	}
	if t.Status == audit.OK && t.Records == 0 {
		return fmt.Sprintf("ok          %s  no records, %s", t.Path, signature(t))
	}
	if t.Status == audit.OK {
		return fmt.Sprintf("ok          %s  %d records, %s to %s, %s", t.Path, t.Records, t.First.Format(time.RFC3339), t.Last.Format(time.RFC3339), signature(t))
	}
	return fmt.Sprintf("%-10s  %s  %d sound records, then %s", t.Status, t.Path, t.Records, t.Fault)
}

// signature says how far a trail is signed.
func signature(t audit.TrailReport) string {
	switch {
	case t.Key == "":
		return "chain only, without checkpoints"
	case t.Closed && t.Signed == t.Records:
		return "signed to the end"
	case audit.IsDaily(t.Path):
		return fmt.Sprintf("signed up to record %d, and open: the hooks of a day write it, one call after the other", t.Signed)
	default:
		return fmt.Sprintf("signed up to record %d, and open: its server runs, or was killed", t.Signed)
	}
}
