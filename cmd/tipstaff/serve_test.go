package main

import (
	"runtime"
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
	for _, c := range []struct {
		live, other uint64
		want        int64
	}{{0, 10 << 20, 48 << 20}, {10 << 20, 10 << 20, 48 << 20}, {100 << 20, 10 << 20, 310 << 20}} {
		if got := memoryLimitFor(c.live, c.other); got != c.want {
			t.Errorf("%d and %d bytes in use: %d", c.live, c.other, got)
		}
	}
	held := make([]byte, 32<<20)
	runtime.GC()
	if live, other, collections := inUse(); live < 32<<20 || live > 1<<30 || other == 0 || other > 1<<30 || collections == 0 {
		t.Errorf("%d bytes of the heap in use, and %d others", live, other)
	}
	runtime.KeepAlive(held)
	limit := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(limit) })
	stop := followMemory()
	stop()
	if got := debug.SetMemoryLimit(-1); got != httpMemoryLimit {
		t.Errorf("the limit is %d", got)
	}
}
