package query

import (
	"time"

	"tipstaff/internal/audit"
)

// DecidingRule is a rule in one place of one policy.
type DecidingRule struct {
	Rule, At     string
	PolicySHA256 string // of the decision: the policy file and the settings
}

// DecisionCount is how often a rule decided, and when last.
type DecisionCount struct {
	N    int64
	Last time.Time
}

// DecidedBy counts decisions about commands and sessions by their rules. After
// [maxNames] different ones, further ones are counted in none. The zero
// DecidedBy is ready to use.
type DecidedBy struct {
	Rules map[DecidingRule]DecisionCount
	Left  int64 // decisions that were counted in none
}

// Add counts one record.
func (d *DecidedBy) Add(r *audit.Record) {
	switch r.Event {
	case audit.CommandStart, audit.CommandRefused, audit.CommandJudged, audit.SessionCreate, audit.SessionRefused:
	default:
		return
	}
	if r.Decision.Rule == "" {
		return
	}
	key := DecidingRule{r.Decision.Rule, r.Decision.At, r.Decision.PolicySHA256}
	if d.Rules == nil {
		d.Rules = map[DecidingRule]DecisionCount{}
	}
	was, met := d.Rules[key]
	if !met && len(d.Rules) >= maxNames {
		d.Left++
		return
	}
	was.N++
	if r.Time.After(was.Last) {
		was.Last = r.Time
	}
	d.Rules[key] = was
}
