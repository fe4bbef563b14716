package explain

import (
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

// Sandbox is how a command would be confined.
type Sandbox struct {
	Tier    string `json:"tier"`
	Profile string `json:"profile"`
	Network string `json:"network"` // on, off, or hosts
	Reason  string `json:"reason,omitempty"`
	Error   string `json:"error,omitempty"` // why nothing would run in it, or why this is not known
}

// sandboxOf makes a sandbox, as doctor does, with the constraints of the policy
// file, and describes it.
func (x *Explainer) sandboxOf(w *policy.LaunchPreview) Sandbox {
	terms, err := run.Terms(w.Bounds, w.Credentials)
	if err != nil {
		return Sandbox{Error: err.Error()}
	}
	status, err := x.Confine(terms)
	box := Sandbox{Tier: status.Tier, Profile: status.Profile, Network: status.Network, Reason: status.Reason}
	if err != nil {
		box.Error = err.Error()
	}
	return box
}
