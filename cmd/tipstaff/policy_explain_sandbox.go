package main

import (
	"tipstaff/internal/proc"
	"tipstaff/internal/sandbox"
)

// confinementUnder makes a sandbox, reads its status and removes it.
func (ev *evaluator) confinementUnder(terms sandbox.Terms) (sandbox.Status, error) {
	engine, err := proc.NewEngine(proc.Options{})
	if err != nil {
		return sandbox.Status{}, err
	}
	defer func() { _ = engine.Close() }() // nothing was started
	return ev.tryConfinement(engine, terms)
}
