package metrics

import (
	"context"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/runner"
)

// Runner gives a runner that runs by next and takes the time. It stands inside
// of whatever makes commands wait for their turn.
func (m *Metrics) Runner(next runner.Runner) runner.Runner {
	if m == nil {
		return next
	}
	return timing{m, next}
}

type timing struct {
	metrics *Metrics
	next    runner.Runner
}

// Run carries out g and takes the time: that of the record is in milliseconds,
// which is longer than most starts take.
func (t timing) Run(ctx context.Context, g *policy.Grant, live runner.Live) (tipstaff.Result, error) {
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
