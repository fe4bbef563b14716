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

// memoryLimitFor returns the limit when live bytes are in use. A server with
// thousands of sessions may use all of the usual limit for them, and the
// collector would run all the time; with twice of what is in use it has room
// again.
func memoryLimitFor(live uint64) int64 { return max(httpMemoryLimit, 2*int64(live)) }

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
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-look.C:
			}
			metrics.Read(live)
			// Setting it stops the world for a moment, so small changes are
			// ignored.
			if want := memoryLimitFor(live[0].Value.Uint64()); want > limit+limit/8 || want < limit-limit/4 {
				limit = want
				debug.SetMemoryLimit(limit)
			}
		}
	})
	return func() { close(done); following.Wait() }
}
