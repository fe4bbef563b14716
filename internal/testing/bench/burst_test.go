package bench

import (
	"sync"
	"testing"
	"time"
)

// A burst is sixteen callers at once, each running ten times.
const (
	burstCallers = 16
	burstTurns   = 10
)

// contender runs once what is measured.
type contender func()

// burster is one of two contenders that are compared.
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

// compareBursts lets both do bursts in turn, after an uncounted one each. It
// reports how many runs each does per second, and the ratio of the first to the
// second.
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
