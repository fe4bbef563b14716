package main

import (
	"context"
	"time"

	"tipstaff/internal/inspect/doctor"
	"tipstaff/internal/inspect/explain"
)

// consoleInsight answers the console by the settings of this environment, each
// time as they and the policy file are then.
type consoleInsight struct{ config configFlag }

// Explainer implements [console.Insight].
func (i *consoleInsight) Explainer() (*explain.Explainer, error) {
	ev, err := evaluatorHere(&i.config)
	if err != nil {
		return nil, err
	}
	return ev.explainer(), nil
}

// Diagnose implements [console.Insight].
func (i *consoleInsight) Diagnose(ctx context.Context) ([]doctor.Finding, error) {
	s, err := i.config.settings()
	if err != nil {
		return nil, err
	}
	d, err := diagnose(ctx, s, false)
	if err != nil {
		return nil, err
	}
	return append(d.Findings(time.Now(), doctor.Detail{}), settingsFindings(s)...), nil
}
