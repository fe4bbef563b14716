package main

import (
	"tipstaff/internal/mcpfront"
	"tipstaff/internal/metrics"
	"tipstaff/internal/monitor"
	"tipstaff/internal/traces"
)

// telemetry measures a server. Either part may be nil and then measures
// nothing.
type telemetry struct {
	metrics *metrics.Metrics
	traces  *traces.Traces
}

func (t telemetry) decider(next monitor.Decider) monitor.Decider { return t.metrics.Decider(next) }

func (t telemetry) road(next mcpfront.Road) mcpfront.Road { return t.traces.Road(next) }
