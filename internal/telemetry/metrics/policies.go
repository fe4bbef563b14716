package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"tipstaff"
	"tipstaff/internal/audit"
)

// policies shows, for each tool, the digest of the rules that made the last
// decision. Families of tools have rules of their own, and a policy file may
// change while the server runs. Older digests are dropped.
type policies struct {
	desc *prometheus.Desc

	mu   sync.Mutex
	last map[tipstaff.Tool]string
}

func newPolicies() *policies {
	return &policies{
		desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "policy_info"),
			"Always 1; the digests of the rules by which was decided last, one for each family of tools.", []string{"sha256"}, nil),
		last: map[tipstaff.Tool]string{},
	}
}

func (p *policies) note(r *audit.Record) {
	digest := r.Decision.PolicySHA256
	if digest == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[r.What.Tool] = digest
}

// Describe implements [prometheus.Collector].
func (p *policies) Describe(ch chan<- *prometheus.Desc) { ch <- p.desc }

// Collect implements [prometheus.Collector].
func (p *policies) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shown := map[string]bool{}
	for _, digest := range p.last {
		if !shown[digest] {
			shown[digest] = true
			ch <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, 1, digest)
		}
	}
}
