package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HTTP counts what becomes of requests over HTTP. A nil one counts nothing.
type HTTP struct {
	requests *prometheus.CounterVec // code
	refused  *prometheus.CounterVec // reason
}

// HTTPSource is what the front over HTTP is asked when somebody reads the metrics.
type HTTPSource struct {
	Reasons  []string         // for which it refuses requests
	Sessions func() int       // of the protocol, that live
	Expiry   func() time.Time // of the certificate in use; nil without TLS
}

// HTTP adds the metrics of a front over HTTP. It may be called once.
func (m *Metrics) HTTP(from HTTPSource) *HTTP {
	if m == nil {
		return nil
	}
	h := &HTTP{
		requests: prometheus.NewCounterVec(opts("http_requests_total", "Requests over HTTP that were answered, by the status of the answer; streams count when they begin."), []string{"code"}),
		refused:  prometheus.NewCounterVec(opts("http_refused_total", "Requests over HTTP that did not get as far as the protocol, by why."), []string{"reason"}),
	}
	for _, reason := range from.Reasons {
		h.refused.WithLabelValues(reason)
	}
	m.registry.MustRegister(h.requests, h.refused, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Namespace: namespace, Name: "http_sessions", Help: "Sessions of the protocol that live; revisions from 2026-07-28 on have none."},
		func() float64 { return float64(from.Sessions()) },
	))
	if from.Expiry != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Namespace: namespace, Name: "tls_certificate_expiry_timestamp_seconds", Help: "When the certificate in use ends, in seconds since 1970."},
			func() float64 { return float64(from.Expiry().Unix()) },
		))
	}
	return h
}

// Answered counts a request by the status of its answer.
func (h *HTTP) Answered(status int) {
	if h != nil {
		h.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	}
}

// Refused counts a request that is turned away.
func (h *HTTP) Refused(reason string) {
	if h != nil {
		h.refused.WithLabelValues(reason).Inc()
	}
}

// TellApprovals says whom to ask how many questions wait for a person. It may be
// called once.
func (m *Metrics) TellApprovals(pending func() int) {
	if m != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Namespace: namespace, Name: "approvals_pending", Help: "Commands that wait for a person to allow them."},
			func() float64 { return float64(pending()) },
		))
	}
}
