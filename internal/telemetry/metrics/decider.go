package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tipstaff"
	"tipstaff/internal/policy"
)

// Decider judges commands in addition to the policy, like that of internal/monitor.
type Decider interface {
	Judge(ctx context.Context, c policy.Case) policy.Finding
}

// Answers of a decider, in addition to the effects.
const (
	unavailable = "unavailable" // it could not be asked, or its answer could not be used
	withdrawn   = "cancelled"   // the caller cancelled the request
)

// Decider returns a decider that asks next, and counts and times its answers.
// These metrics exist only once there is a decider.
func (m *Metrics) Decider(next Decider) Decider {
	if m == nil || next == nil {
		return next
	}
	m.deciding.Do(m.countDecider)
	d := m.decided
	d.next = next
	return d
}

// countDecider creates the metrics for all deciders, when there is a first one.
func (m *Metrics) countDecider() {
	d := asking{
		answers: prometheus.NewCounterVec(opts("decider_answers_total", "Commands about which the operator's decider was asked, by what came of it."), []string{"answer"}),
		took:    histogram("decider_seconds", "How long it took to ask the operator's decider.", shortDurations),
	}
	for _, answer := range []string{policy.Allow.String(), policy.Ask.String(), policy.Deny.String(), unavailable, withdrawn} {
		d.answers.WithLabelValues(answer)
	}
	m.registry.MustRegister(d.answers, d.took)
	m.decided = d
}

type asking struct {
	next    Decider
	answers *prometheus.CounterVec
	took    prometheus.Histogram
}

// Judge asks the decider, and counts and times the answer.
func (d asking) Judge(ctx context.Context, c policy.Case) policy.Finding {
	began := time.Now()
	f := d.next.Judge(ctx, c)
	d.took.Observe(time.Since(began).Seconds())
	answer := f.Effect.String()
	switch f.Code {
	case tipstaff.PolicyUnavailable:
		answer = unavailable
	case tipstaff.ExecutionError:
		answer = withdrawn
	}
	d.answers.WithLabelValues(answer).Inc()
	return f
}
