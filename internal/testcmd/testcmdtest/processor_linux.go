package testcmdtest

import (
	"runtime"
	"syscall"
	"testing"
	"time"
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
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
