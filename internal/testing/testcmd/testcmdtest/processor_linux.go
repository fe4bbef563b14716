package testcmdtest

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime returns how long a processor worked for f on the goroutine of the
// test. What else the machine does does not count, as it would by a clock.
func ProcessorTime(t testing.TB, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := worked(t)
	f()
	return worked(t) - before
}

func worked(t testing.TB) time.Duration {
	t.Helper()
	var at unix.Timespec // getrusage(2) counts in ticks
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}
