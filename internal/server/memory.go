package server

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// httpMemoryLimit is the memoryLimit of a server of many clients: the output of
// one command then costs 36 to 46 MiB above idle; with 64 MiB it would be 50 to
// 56, too near to the 64 of contract T5.
const httpMemoryLimit = 48 << 20

// memoryLook is how often followMemory checks the memory in use.
const memoryLook = time.Second

// busyCollector is the share of the server's work from which on the collector means
// that the limit is too low for what is in use. Counting collections would not tell:
// where the machine is busy, each lasts so long that there are few of them.
const busyCollector = 0.1

// memoryLimitFor returns the limit when live bytes of the heap are in use, and
// other bytes for stacks and the runtime itself. A server with thousands of
// sessions, or of calls in flight, may use all of the usual limit for them, and the
// collector would run all the time; with three times what lives on the heap it has
// room again.
func memoryLimitFor(usual int64, live, other uint64) int64 {
	return max(usual, 3*int64(live)+int64(other))
}

// memoryUse is what followMemory sees at a look.
type memoryUse struct {
	live       uint64  // bytes of the heap in use when it was last collected
	other      uint64  // bytes that the runtime has besides the heap
	collecting float64 // seconds of the processors since the start, for the collector
	working    float64 // the same for everything
}

func inUse() (u memoryUse) {
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"},
	}
	metrics.Read(s)
	u.live, u.other = s[0].Value.Uint64(), s[1].Value.Uint64()
	for _, heap := range s[2:6] {
		u.other -= min(u.other, heap.Value.Uint64())
	}
	// What the collector does while nothing else is to be done is no work.
	u.collecting = s[6].Value.Float64() - s[7].Value.Float64()
	u.working = s[8].Value.Float64() - s[9].Value.Float64() - s[7].Value.Float64()
	return u
}

// after returns the limit for what is in use now, with the look before, the usual
// limit and the one until now.
func (u memoryUse) after(before memoryUse, usual, limit int64) int64 {
	want := memoryLimitFor(usual, min(u.live, before.live), u.other) // a large answer is in use for a moment only
	if u.collecting-before.collecting <= busyCollector*(u.working-before.working) {
		want = min(limit, memoryLimitFor(usual, u.live, u.other)) // it suffices
	}
	// Setting it stops the world for a moment, so small changes are ignored.
	if want > limit+limit/8 || want < limit-limit/4 {
		return want
	}
	return limit
}

// followMemory adapts the soft memory limit, usual at first, to what is in use, until
// stop is called.
func followMemory(usual int64) (stop func()) {
	debug.SetMemoryLimit(usual)
	done := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		look := time.NewTicker(memoryLook)
		defer look.Stop()
		limit := usual
		var before memoryUse
		for {
			select {
			case <-done:
				return
			case <-look.C:
			}
			now := inUse()
			if want := now.after(before, usual, limit); want != limit {
				limit = want
				debug.SetMemoryLimit(limit)
			}
			before = now
		}
	})
	return func() { close(done); following.Wait() }
}
