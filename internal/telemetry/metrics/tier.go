package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// tierInUse shows the tier by which commands are confined.
type tierInUse struct {
	desc *prometheus.Desc
	tell atomic.Pointer[func() string]
}

func newTierInUse() *tierInUse {
	return &tierInUse{desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "sandbox_tier"),
		"1 for the tier that confines commands, 0 for the others.", []string{"tier"}, nil)}
}

// TellTier sets the function that returns the tier. It is only called when
// metrics are requested, because finding out the tier takes longer than the
// start.
func (m *Metrics) TellTier(tell func() string) {
	if m != nil {
		m.tier.tell.Store(&tell)
	}
}

// Describe implements [prometheus.Collector].
func (t *tierInUse) Describe(ch chan<- *prometheus.Desc) { ch <- t.desc }

// Collect implements [prometheus.Collector].
func (t *tierInUse) Collect(ch chan<- prometheus.Metric) {
	inUse := ""
	if tell := t.tell.Load(); tell != nil {
		inUse = (*tell)()
	}
	for _, tier := range tiers {
		value := 0.0
		if tier == inUse {
			value = 1
		}
		ch <- prometheus.MustNewConstMetric(t.desc, prometheus.GaugeValue, value, tier)
	}
}
