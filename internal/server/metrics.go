package server

import (
	"context"
	"log/slog"

	"tipstaff/internal/build"
	"tipstaff/internal/exit"
	"tipstaff/internal/telemetry/metrics"
)

func newMetrics() *metrics.Metrics {
	b := build.This()
	return metrics.New(metrics.Build{Version: b.Version, Revision: b.Revision, Go: b.Go})
}

// openMetrics makes metrics and serves them at address; without an address
// there are none. It runs before the rest of the server is made, so that a
// server whose address is in use does not start and leaves no trail. The caller
// calls unlisten.
func openMetrics(ctx context.Context, address string, log *slog.Logger) (counts *metrics.Metrics, unlisten func(), err error) {
	if address == "" {
		return nil, func() {}, nil
	}
	address, err = metrics.Address(address)
	if err != nil {
		return nil, nil, exit.Errorf(exit.Config, "cannot start with these settings:\n--metrics (TIPSTAFF_METRICS): %w", err)
	}
	endpoint, err := metrics.Listen(ctx, address)
	if err != nil {
		return nil, nil, exit.Errorf(exit.Config, "cannot serve metrics on %s: %w\nAnother server may have this address: every client starts one of its own. Give each an address, or port 0, which takes any that is free and says which in the log", address, err)
	}
	counts = newMetrics()
	endpoint.Serve(counts, log)
	log.Info("serving metrics", "url", endpoint.URL())
	if !endpoint.Local() {
		log.Warn("metrics can be read from other machines, by anybody who reaches this address", "url", endpoint.URL())
	}
	return counts, func() {
		if err := endpoint.Close(); err != nil {
			log.Error("cannot close the address of the metrics", "error", err)
		}
	}, nil
}
