package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HTTP counts requests of the HTTP front and their answers. A nil *HTTP counts
// nothing.
type HTTP struct {
	requests *prometheus.CounterVec // code
	refused  *prometheus.CounterVec // reason
}

// HTTPSource provides values of the HTTP front, which are read when metrics are
// requested.
type HTTPSource struct {
	Reasons  []string         // for refusing requests
	Sessions func() int       // number of live protocol sessions
	Expiry   func() time.Time // expiry of the certificate in use; nil without TLS
}

// HTTP adds the metrics of an HTTP front. It may be called once.
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

// Refused counts a request that is refused.
func (h *HTTP) Refused(reason string) {
	if h != nil {
		h.refused.WithLabelValues(reason).Inc()
	}
}

// TellApprovals sets the function that returns how many questions wait for a
// person. It may be called once.
func (m *Metrics) TellApprovals(pending func() int) {
	if m != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Namespace: namespace, Name: "approvals_pending", Help: "Commands that wait for a person to allow them."},
			func() float64 { return float64(pending()) },
		))
	}
}
