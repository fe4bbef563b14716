package metrics

import (
	"context"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

// Runner returns a runner that runs commands by next and measures their time.
// Use it inside of runners that make commands wait.
func (m *Metrics) Runner(next run.Runner) run.Runner {
	if m == nil {
		return next
	}
	return timing{m, next}
}

type timing struct {
	metrics *Metrics
	next    run.Runner
}

// Run carries out g and measures the time itself, because the record's time is
// in milliseconds, which most starts take less than.
func (t timing) Run(ctx context.Context, g *policy.Grant, live run.Live) (tipstaff.Result, error) {
	t.metrics.running.Inc()
	defer t.metrics.running.Dec()
	asked, told := time.Now(), live.Started
	live.Started = func() {
		t.metrics.spawn.Observe(time.Since(asked).Seconds())
		if told != nil {
			told()
		}
	}
	r, err := t.next.Run(ctx, g, live)
	if err == nil {
		t.metrics.duration.Observe(r.Duration.Seconds())
	}
	return r, err
}
