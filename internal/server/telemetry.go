package server

import (
	"tipstaff/internal/front/mcpserver"
	"tipstaff/internal/monitor"
	"tipstaff/internal/telemetry/metrics"
	"tipstaff/internal/telemetry/traces"
)

// telemetry measures a server. Either part may be nil and then measures
// nothing.
type telemetry struct {
	metrics *metrics.Metrics
	traces  *traces.Traces
}

func (t telemetry) decider(next monitor.Decider) monitor.Decider { return t.metrics.Decider(next) }

func (t telemetry) monitor(next mcpserver.Monitor) mcpserver.Monitor { return t.traces.Monitor(next) }
