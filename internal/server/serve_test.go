package server

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestHardening12TheCollectorIsSetForManySmallMessages(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	TuneRuntime()
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
		if got := memoryLimitFor(httpMemoryLimit, c.live, c.other); got != c.want {
			t.Errorf("%d and %d bytes in use: %d", c.live, c.other, got)
		}
	}
	const low, high = 48 << 20, 310 << 20
	for _, c := range []struct {
		what        string
		before, now memoryUse
		limit, want int64
	}{
		{"many sessions, and the collector takes a fifth of the time", memoryUse{100 << 20, 10 << 20, 1, 10}, memoryUse{100 << 20, 10 << 20, 2, 15}, low, high},
		{"many sessions, and the collector has little to do", memoryUse{100 << 20, 10 << 20, 1, 10}, memoryUse{100 << 20, 10 << 20, 1.1, 15}, low, low},
		{"a large answer that was not there at the look before", memoryUse{5 << 20, 10 << 20, 1, 10}, memoryUse{100 << 20, 10 << 20, 2, 15}, low, low},
		{"the sessions have gone", memoryUse{100 << 20, 10 << 20, 1, 10}, memoryUse{5 << 20, 10 << 20, 1.1, 15}, high, low},
		{"nothing has happened", memoryUse{100 << 20, 10 << 20, 1, 10}, memoryUse{100 << 20, 10 << 20, 1, 10}, high, high},
	} {
		if got := c.now.after(c.before, httpMemoryLimit, c.limit); got != c.want {
			t.Errorf("%s: %d", c.what, got)
		}
	}
	held := make([]byte, 32<<20)
	runtime.GC()
	u := inUse()
	if u.live < 32<<20 || u.live > 1<<30 || u.other == 0 || u.other > 1<<30 || u.collecting <= 0 || u.working <= u.collecting {
		t.Errorf("in use is %+v", u)
	}
	runtime.KeepAlive(held)
	limit := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(limit) })
	stop := followMemory(httpMemoryLimit)
	stop()
	if got := debug.SetMemoryLimit(-1); got != httpMemoryLimit {
		t.Errorf("the limit is %d", got)
	}
}
