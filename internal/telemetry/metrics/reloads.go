package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tipstaff/internal/audit"
)

// reloads count the outcomes of reading the policy file again.
type reloads struct {
	total   *prometheus.CounterVec // outcome
	refused prometheus.Gauge
	loaded  prometheus.Gauge
}

func newReloads() *reloads {
	r := &reloads{
		total:   prometheus.NewCounterVec(opts("policy_reloads_total", "How often the policy file was read again, by what came of it."), []string{"outcome"}),
		refused: gauge("policy_file_refused", "1 if the policy file could not be used when it was read last, so that an older one goes on deciding."),
		loaded:  gauge("policy_loaded_timestamp_seconds", "When the policy file that decides was read; 0 without one."),
	}
	for _, outcome := range []string{audit.PolicyLoaded, audit.PolicyUnchanged, audit.PolicyRefused} {
		r.total.WithLabelValues(outcome)
	}
	return r
}

func (r *reloads) note(rec *audit.Record) {
	p := rec.Policy
	if p == nil {
		return
	}
	outcome := p.Outcome
	if rec.Event == audit.PolicyReload {
		switch outcome {
		case audit.PolicyLoaded, audit.PolicyUnchanged, audit.PolicyRefused:
		default:
			outcome = other
		}
		r.total.WithLabelValues(outcome).Inc()
	}
	if outcome == audit.PolicyRefused {
		r.refused.Set(1)
		return
	}
	r.refused.Set(0)
	if outcome == audit.PolicyLoaded {
		r.loaded.Set(float64(time.Now().UnixMilli()) / 1000)
	}
}
