package main

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// httpMemoryLimit is as memoryLimit, for a server of many clients: what one command
// prints costs 50 MiB above idle (contract T5); with 96 MiB it would be 80.
const httpMemoryLimit = 64 << 20

// memoryLook is how often followMemory looks.
const memoryLook = 2 * time.Second

// memoryLimitFor is the limit for so much that is in use. A server with thousands
// of sessions may need all of the usual limit for them, and the collector would run
// all the time; with twice of what is in use it has room again.
func memoryLimitFor(live uint64) int64 { return max(httpMemoryLimit, 2*int64(live)) }

// followMemory sets the soft memory limit by what is in use, until stop is called.
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
			// To set it stops the world for a moment: not for a little.
			if want := memoryLimitFor(live[0].Value.Uint64()); want > limit+limit/8 || want < limit-limit/4 {
				limit = want
				debug.SetMemoryLimit(limit)
			}
		}
	})
	return func() { close(done); following.Wait() }
}
