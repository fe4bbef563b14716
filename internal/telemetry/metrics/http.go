package metrics

import (
	"strconv"
	"sync"
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

// waiting shows how many questions wait for a person, once a part of the server has
// said where it keeps them.
type waiting struct {
	mu      sync.Mutex
	pending []func() int
	desc    *prometheus.Desc
}

func newWaiting() *waiting {
	return &waiting{desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "approvals_pending"), "Commands that wait for a person to allow them.", nil, nil)}
}

// TellApprovals adds a function that returns how many questions wait for a person.
func (m *Metrics) TellApprovals(pending func() int) {
	if m == nil {
		return
	}
	m.approvals.mu.Lock()
	defer m.approvals.mu.Unlock()
	m.approvals.pending = append(m.approvals.pending, pending)
}

// Describe implements [prometheus.Collector].
func (w *waiting) Describe(ch chan<- *prometheus.Desc) { ch <- w.desc }

// Collect implements [prometheus.Collector].
func (w *waiting) Collect(ch chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, pending := range w.pending {
		n += pending()
	}
	if len(w.pending) > 0 {
		ch <- prometheus.MustNewConstMetric(w.desc, prometheus.GaugeValue, float64(n))
	}
}
