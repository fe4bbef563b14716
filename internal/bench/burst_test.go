package bench

import (
	"sync"
	"testing"
	"time"
)

// A burst is what sixteen callers do at once, ten times each.
const (
	burstCallers = 16
	burstTurns   = 10
)

// contender does something once.
type contender func()

// burster is one of two that are compared.
type burster interface{ burst() time.Duration }

func (one contender) burst() time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for range burstCallers {
		all.Go(func() {
			for range burstTurns {
				one()
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// compareBursts has both do a burst in turn, after one that does not count, and
// reports how many each does in a second and what the first does of the second's.
func compareBursts(b *testing.B, unit string, ours, floor burster) {
	b.Helper()
	ours.burst()
	floor.burst()
	var o, f []time.Duration
	for b.Loop() {
		o = append(o, ours.burst())
		f = append(f, floor.burst())
	}
	const all = burstCallers * burstTurns
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(all/median(o).Seconds(), "ours-"+unit)
	b.ReportMetric(all/median(f).Seconds(), "floor-"+unit)
	b.ReportMetric(float64(median(f))/float64(median(o)), "throughput-ratio")
}
