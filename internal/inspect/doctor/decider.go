package doctor

import (
	"context"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/decider"
)

// Decider describes the decider of the settings.
type Decider struct {
	Address string `json:"address"`
	// Answer is its answer for the command "true": allow, ask or deny.
	Answer string        `json:"answer,omitempty"`
	Said   string        `json:"said,omitempty"`
	Took   time.Duration `json:"took_ns"`
	Error  string        `json:"error,omitempty"` // why no command would run
	// Note is something that the operator may want to look into.
	Note string `json:"note,omitempty"`
}

// ExamineDecider asks a decider about the command "true", which runs nowhere; nil
// without one. It takes no longer than the decider's timeout.
func ExamineDecider(ctx context.Context, c *decider.Client) *Decider {
	if c == nil {
		return nil
	}
	q := policy.Case{
		ID: "doctor", Tool: "doctor", Family: tipstaff.Execute, Origin: tipstaff.Origin{Front: "cli", Principal: "local"},
		Argv: []string{"true"}, File: "/bin/true", Dir: "/", Timeout: time.Second, Effect: policy.Allow, Rule: "default",
	}
	d := &Decider{Address: c.String()}
	began := time.Now()
	f := c.Judge(ctx, q)
	d.Took = time.Since(began)
	switch {
	case f.Code == tipstaff.PolicyUnavailable:
		d.Error = f.Err.Error()
		return d
	case f.Err != nil:
		d.Note = f.Err.Error()
	}
	d.Answer, d.Said = f.Effect.String(), f.Msg
	return d
}

func (d *Decider) findings() []Finding {
	if d == nil {
		return nil
	}
	took := d.Took.Round(10 * time.Microsecond)
	switch {
	case d.Error != "":
		return []Finding{fault("decider: %s cannot be asked, and without it nothing runs: %s", d.Address, d.Error).
			note("start it, mend the address in TIPSTAFF_DECIDER, or unset TIPSTAFF_DECIDER")}
	case d.Note != "":
		return []Finding{doubt("decider: %s answers in %v, and nothing that counts: %s", d.Address, took, d.Note)}
	default:
		return []Finding{good("decider: %s answers in %v; of the command true it says %s", d.Address, took, d.Answer)}
	}
}
