//go:build !linux

package testcmdtest

import (
	"testing"
	"time"
)

// ProcessorTime goes by the clock: this system does not count for a thread.
func ProcessorTime(t testing.TB, f func()) time.Duration {
	t.Helper()
	began := time.Now()
	f()
	return time.Since(began)
}
