package server

import (
	"context"
	"log/slog"

	"tipstaff/internal/build"
	"tipstaff/internal/server/config"
	"tipstaff/internal/telemetry/traces"
)

// openTraces begins to send traces if the environment names a collector. The
// variables are shared by all programs and may be meant for another one: a
// fault in them is logged and does not stop the server. The caller calls end,
// which takes a second at most.
func openTraces(ctx context.Context, s config.Settings, log *slog.Logger) (spans *traces.Traces, end func()) {
	collector, err := traces.ParseCollector(s.Environ)
	if err == nil && collector != nil {
		collector.LetListen(s.LoopbackUsers)
		spans, err = traces.Open(ctx, collector, build.Version(), log)
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
