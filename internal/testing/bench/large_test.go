//go:build linux

package bench

import "testing"

// BenchmarkStartInALargeServer: start and reap of /bin/true in a process with
// 2 GiB resident, against one with 50 MB, without a sandbox and in both tiers.
// The large one is ours, the small one the floor. Budget: within 5 %.
func BenchmarkStartInALargeServer(b *testing.B) {
	b.Run("unconfined", func(b *testing.B) { largeAgainstSmall(b, "engine without pipes") })
	eachTier(b, func(b *testing.B, c *confined) { largeAgainstSmall(b, c.tier()) })
}

func largeAgainstSmall(b *testing.B, work string) {
	small, large := newWorker(b, work, 40<<20), newWorker(b, work, 2<<30)
	inRows(b, large.row, small.row)
	b.ReportMetric(float64(small.resident())/1e6, "small-MB")
	b.ReportMetric(float64(large.resident())/1e6, "large-MB")
}
