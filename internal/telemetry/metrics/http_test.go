package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheFrontOverHTTPIsCountedAndAsked(t *testing.T) {
	m := New(Build{"1", "abc", "go"})
	sessions, pending := 1, 2
	h := m.HTTP(HTTPSource{
		Reasons: []string{"host", "rate"}, Sessions: func() int { return sessions },
		Expiry: func() time.Time { return time.Unix(2_000_000, 0) },
	})
	m.TellApprovals(func() int { return pending })
	h.Answered(200)
	h.Answered(429)
	h.Answered(429)
	h.Refused("rate")
	sessions, pending = 3, 4
	want := map[string]string{
		`tipstaff_build_info{goversion="go",revision="abc",version="1"}`: "1",
		`tipstaff_http_requests_total{code="200"}`:                       "1",
		`tipstaff_http_requests_total{code="429"}`:                       "2",
		`tipstaff_http_refused_total{reason="rate"}`:                     "1",
		"tipstaff_http_sessions":                                         "3",
		"tipstaff_approvals_pending":                                     "4",
		"tipstaff_tls_certificate_expiry_timestamp_seconds":              "2e+06",
	}
	if diff := cmp.Diff(want, scraped(t, m)); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutMetricsNothingIsCounted(*testing.T) {
	var m *Metrics
	h := m.HTTP(HTTPSource{})
	h.Answered(200)
	h.Refused("host")
	m.TellApprovals(nil)
	m.TellLog(nil)
}
