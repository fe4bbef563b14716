package decider

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tipstaff/internal/policy"
)

// BenchmarkJudge is an exchange with a decider that answers at once, on a
// connection that is kept: what every command waits for at least.
func BenchmarkJudge(b *testing.B) {
	for _, transport := range transports {
		b.Run(transport, func(b *testing.B) {
			at := "127.0.0.1:0"
			if transport == "unix" {
				dir, err := os.MkdirTemp("", "opa") //nolint:usetesting // the name of a socket is short, that of a test is not
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = os.RemoveAll(dir) })
				at = filepath.Join(dir, "opa.sock")
			}
			s := newStubAt(b, transport, at, says(`{"result": true}`))
			c, err := New(Options{URL: s.url, Timeout: patience})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if f := c.Judge(b.Context(), push()); f.Effect != policy.Allow {
					b.Fatalf("%+v", f)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
		})
	}
}
