package main

import (
	"tipstaff/internal/mcpfront"
	"tipstaff/internal/metrics"
	"tipstaff/internal/monitor"
	"tipstaff/internal/runner"
	"tipstaff/internal/traces"
)

// watchers look on while a server works. Each may be nil, and then stands in
// nobody's way.
type watchers struct {
	metrics *metrics.Metrics
	traces  *traces.Traces
}

func (w watchers) trail(next monitor.Trail) monitor.Trail { return w.metrics.Trail(next) }

func (w watchers) decider(next monitor.Decider) monitor.Decider { return w.metrics.Decider(next) }

func (w watchers) runner(next runner.Runner) runner.Runner {
	return w.traces.Runner(w.metrics.Runner(next))
}

func (w watchers) road(next mcpfront.Road) mcpfront.Road { return w.traces.Road(next) }
