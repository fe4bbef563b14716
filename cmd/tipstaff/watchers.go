package main

import (
	"tipstaff/internal/mcpfront"
	"tipstaff/internal/metrics"
	"tipstaff/internal/monitor"
	"tipstaff/internal/traces"
)

// watchers look on while a server works. Each may be nil, and then stands in
// nobody's way.
type watchers struct {
	metrics *metrics.Metrics
	traces  *traces.Traces
}

func (w watchers) decider(next monitor.Decider) monitor.Decider { return w.metrics.Decider(next) }

func (w watchers) road(next mcpfront.Road) mcpfront.Road { return w.traces.Road(next) }
