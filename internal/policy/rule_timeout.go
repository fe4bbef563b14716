package policy

import (
	"fmt"
	"time"

	"tipstaff"
)

// LongestLife is how long a command in the background lives at most.
const LongestLife = 24 * time.Hour

// timeout bounds the time of a command (contract A4, B4, J2). It never changes a
// requested time: a time above the ceiling is refused. The settings of a family
// bound the calls that wait for their commands; a command in the background has
// a bound of its own, which a policy file can only lower.
type timeout struct {
	limits map[tipstaff.Family]FamilyLimits
}

// Judge implements [Rule]. A time limit above the ceiling is refused, not
// lowered: the caller would take a command that was ended early for one that
// had failed. Only a command of a script is lowered, because its time was given
// for the whole script.
func (r timeout) Judge(req *tipstaff.Request, _ World, d *Draft) []Finding {
	limits := limitsOf(req, r.limits[req.Family], d.Bounds)
	asked := req.Timeout
	if asked == 0 {
		asked = limits.DefaultTimeout
	}
	if req.Parent != "" && limits.MaxTimeout > 0 {
		asked = min(asked, limits.MaxTimeout) // it was asked for the script, not for this command
	}
	f := Finding{Rule: "timeout", Code: tipstaff.InvalidParameters}
	switch {
	case asked <= 0 && req.Timeout == 0:
		f.Msg = "there is no time limit for this family of commands"
		f.Hint = "This is a fault of the server's configuration; tell the operator."
	case asked <= 0:
		f.Msg = fmt.Sprintf("the timeout of %d ms is not positive", asked.Milliseconds())
		f.Hint = "Give a positive whole number of milliseconds, or leave it out."
	case limits.MaxTimeout > 0 && asked > limits.MaxTimeout:
		f.Msg = fmt.Sprintf("the timeout of %d ms is above the ceiling of %d ms", asked.Milliseconds(), limits.MaxTimeout.Milliseconds())
		f.Hint = fmt.Sprintf("Ask for at most %d ms, and split work that takes longer.", limits.MaxTimeout.Milliseconds())
		f.Details = map[string]any{"ceilingMs": limits.MaxTimeout.Milliseconds()}
	default:
		d.Timeout = asked
		return nil
	}
	return []Finding{f}
}
