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
