package doctor

import (
	"fmt"
	"time"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/strictjson"
)

// clock compares the clock of a runner, as it stands in its lease, with the
// server's.
func (d *Engine) clock(l natsx.LeaseChange) {
	var lease fleet.Lease
	if strictjson.Unmarshal(l.Value, &lease) != nil || lease.Clock.IsZero() {
		return
	}
	if off := lease.Clock.Sub(l.Time); off.Abs() > natsx.ClockSkew/2 {
		d.Skewed = append(d.Skewed, fmt.Sprintf("%s by %v", l.Member.Name, off.Round(time.Second)))
	}
}
