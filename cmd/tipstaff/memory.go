package main

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
const memoryLook = 2 * time.Second

// busyCollector is how many collections between two looks mean that the limit is
// too low for what is in use.
const busyCollector = 8

// memoryLimitFor returns the limit when live bytes of the heap are in use, and
// other bytes for stacks and the runtime itself. A server with thousands of
// sessions may use all of the usual limit for them, and the collector would run
// all the time; with three times what lives on the heap it has room again.
func memoryLimitFor(live, other uint64) int64 {
	return max(httpMemoryLimit, 3*int64(live)+int64(other))
}

// inUse returns how much of the heap was in use when it was last collected, how
// much memory the runtime has besides the heap, and how many collections there
// were.
func inUse() (live, other, collections uint64) {
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(s)
	other = s[1].Value.Uint64()
	for _, heap := range s[2:6] {
		other -= min(other, heap.Value.Uint64())
	}
	return s[0].Value.Uint64(), other, s[6].Value.Uint64()
}

// followMemory adapts the soft memory limit to what is in use, until stop is
// called.
func followMemory() (stop func()) {
	debug.SetMemoryLimit(httpMemoryLimit)
	done := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		look := time.NewTicker(memoryLook)
		defer look.Stop()
		limit := int64(httpMemoryLimit)
		var before, cycles uint64 // in use at the look before, and collections until then
		for {
			select {
			case <-done:
				return
			case <-look.C:
			}
			live, other, now := inUse()
			want := memoryLimitFor(min(live, before), other) // a large answer is in use for a moment only
			if now-cycles < busyCollector {
				want = min(limit, memoryLimitFor(live, other)) // it suffices
			}
			before, cycles = live, now
			// Setting it stops the world for a moment, so small changes are
			// ignored.
			if want > limit+limit/8 || want < limit-limit/4 {
				limit = want
				debug.SetMemoryLimit(limit)
			}
		}
	})
	return func() { close(done); following.Wait() }
}

// consoleGCPercent keeps a console small, which stands beside the servers of its host
// and mostly waits: what it reads of a trail is garbage soon. A memory limit would make
// the collector run all the time where a trail is so long that more than the limit is
// in use.
const consoleGCPercent = 40

func tuneConsole() { debug.SetGCPercent(consoleGCPercent) }
