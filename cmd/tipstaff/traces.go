package main

import (
	"context"
	"log/slog"

	"tipstaff/internal/config"
	"tipstaff/internal/traces"
)

// openTraces begins to send traces if the environment names a collector. Its
// variables are everybody's, and may be meant for another program: what cannot be
// done about them is told and no reason not to serve. The caller calls end, which
// takes a second at most.
func openTraces(ctx context.Context, s config.Settings, log *slog.Logger) (spans *traces.Traces, end func()) {
	collector, err := traces.ParseCollector(s.Environ)
	if err == nil && collector != nil {
		spans, err = traces.Open(ctx, collector, version, log)
	}
	if err != nil {
		log.Warn("traces are not sent", "error", err)
	}
	return spans, func() {
		if err := spans.Close(); err != nil {
			log.Warn("traces are not sent", "error", err)
		}
	}
}
