package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"tipstaff/internal/fleet/replicate"
)

// copies shows what is copied of the audit trail. It shows nothing on a server
// that copies none.
type copies struct {
	mu    sync.Mutex
	tells []func() replicate.Status

	pending, batches, bytes, failures, oldTrails, oldBytes *prometheus.Desc
}

func newCopies() *copies {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return &copies{
		pending:   desc("audit_copy_pending_records", "Records of this server that no stream of the engine has acknowledged yet; they are on its disk."),
		batches:   desc("audit_copy_batches_total", "Batches of records that streams have acknowledged."),
		bytes:     desc("audit_copy_bytes_total", "Bytes in these batches."),
		failures:  desc("audit_copy_failures_total", "Attempts to copy records that failed, by reason; none loses anything.", "reason"),
		oldTrails: desc("audit_copy_old_trails", "Trails of servers that have ended, of which something is not copied yet."),
		oldBytes:  desc("audit_copy_old_bytes", "Bytes of these trails that are not copied yet."),
	}
}

// TellCopies adds a function that returns what is copied of a trail. A process with
// two roles has two, and shows their sums.
func (m *Metrics) TellCopies(tell func() replicate.Status) {
	if m == nil {
		return
	}
	m.copies.mu.Lock()
	defer m.copies.mu.Unlock()
	m.copies.tells = append(m.copies.tells, tell)
}

// sum is what is copied of all trails. Trails that are old are the same to all of
// them: they lie in one directory.
func (c *copies) sum() (st replicate.Status, copied bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st.Failures = map[string]uint64{}
	for _, tell := range c.tells {
		one := tell()
		st.Written, st.Copied = st.Written+one.Written, st.Copied+min(one.Copied, one.Written)
		st.Batches, st.Bytes, st.Old = st.Batches+one.Batches, st.Bytes+one.Bytes, one.Old
		for reason, n := range one.Failures {
			st.Failures[reason] += n
		}
	}
	return st, len(c.tells) > 0
}

// Describe implements [prometheus.Collector].
func (c *copies) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.pending, c.batches, c.bytes, c.failures, c.oldTrails, c.oldBytes} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *copies) Collect(ch chan<- prometheus.Metric) {
	st, copied := c.sum()
	if !copied {
		return
	}
	var old int64
	for _, b := range st.Old {
		old += b.Bytes
	}
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(c.pending, float64(st.Written-st.Copied))
	count(c.batches, st.Batches)
	count(c.bytes, st.Bytes)
	for _, reason := range replicate.Reasons() {
		count(c.failures, st.Failures[reason], reason)
	}
	gauge(c.oldTrails, float64(len(st.Old)))
	gauge(c.oldBytes, float64(old))
}
