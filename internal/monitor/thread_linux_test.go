package monitor

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// thread is one on which nothing runs but what it is given: what the kernel
// holds of a thread, its user or its namespaces, may be changed there.
type thread struct{ jobs chan func() }

// newThread changes a thread by prepare; where that fails, the test is skipped.
func newThread(t *testing.T, prepare func() error) *thread {
	t.Helper()
	th := &thread{jobs: make(chan func())}
	ready := make(chan error)
	go th.serve(prepare, ready)
	if err := <-ready; err != nil {
		t.Skip("a thread cannot be made so here: ", err)
	}
	t.Cleanup(func() { close(th.jobs) })
	return th
}

func (th *thread) serve(prepare func() error, ready chan<- error) {
	runtime.LockOSThread() // for ever: the thread ends with the goroutine
	if syscall.Gettid() == os.Getpid() {
		// The main thread stands for the process and stays as it is. While
		// this goroutine holds it, another one gets another.
		defer runtime.UnlockOSThread()
		second := make(chan error)
		go th.serve(prepare, second)
		ready <- <-second
		return
	}
	err := prepare()
	ready <- err
	if err != nil {
		return
	}
	for job := range th.jobs {
		job()
	}
}

// do runs f on the thread.
func (th *thread) do(f func()) {
	done := make(chan struct{})
	th.jobs <- func() { defer close(done); f() }
	<-done
}
