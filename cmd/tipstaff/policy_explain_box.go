package main

import (
	"tipstaff/internal/policy"
	"tipstaff/internal/proc"
	"tipstaff/internal/runner"
	"tipstaff/internal/sandbox"
)

// explainedBox is how a command would be confined.
type explainedBox struct {
	Tier    string `json:"tier"`
	Profile string `json:"profile"`
	Network string `json:"network"` // on, off, or hosts
	Reason  string `json:"reason,omitempty"`
	Error   string `json:"error,omitempty"` // why nothing would run in it, or why this is not known
}

// sandboxOf makes a sandbox, as doctor does, with the constraints of the policy
// file, and describes it.
func (ev *evaluator) sandboxOf(w *policy.Would) explainedBox {
	terms, err := runner.Terms(w.Bounds, w.Credentials)
	if err != nil {
		return explainedBox{Error: err.Error()}
	}
	status, err := ev.confinementUnder(terms)
	box := explainedBox{Tier: status.Tier, Profile: status.Profile, Network: status.Network, Reason: status.Reason}
	if err != nil {
		box.Error = err.Error()
	}
	return box
}

// confinementUnder makes a sandbox, reads its status and removes it.
func (ev *evaluator) confinementUnder(terms sandbox.Terms) (sandbox.Status, error) {
	engine, err := proc.NewEngine(proc.Options{})
	if err != nil {
		return sandbox.Status{}, err
	}
	defer func() { _ = engine.Close() }() // nothing was started
	return ev.tryConfinement(engine, terms)
}
