package main

import (
	"runtime/debug"
	"testing"
)

func TestHardening12TheCollectorIsSetForManySmallMessages(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	tuneCollector()
	if got := debug.SetGCPercent(100); got != gcPercent {
		t.Errorf("the collector runs at %d %%", got)
	}
	if got := debug.SetMemoryLimit(-1); got != memoryLimit {
		t.Errorf("the soft limit is %d bytes", got)
	}
}

func TestTheMemoryLimitFollowsWhatIsInUse(t *testing.T) {
	for live, want := range map[uint64]int64{0: 48 << 20, 20 << 20: 48 << 20, 100 << 20: 200 << 20} {
		if got := memoryLimitFor(live); got != want {
			t.Errorf("%d bytes in use: %d", live, got)
		}
	}
	limit := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(limit) })
	stop := followMemory()
	stop()
	if got := debug.SetMemoryLimit(-1); got != httpMemoryLimit {
		t.Errorf("the limit is %d", got)
	}
}
