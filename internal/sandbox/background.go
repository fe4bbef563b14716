//go:build linux

package sandbox

import "sync"

// background is the work on other goroutines. Other than a sync.WaitGroup, it may be
// waited for at any time, also when the first goroutine just begins. The zero value has
// none.
type background struct {
	mu   sync.Mutex
	runs int
	idle chan struct{} // closed when none runs any more; nil if nobody waits
}

// Go calls f on a goroutine of its own.
func (b *background) Go(f func()) {
	b.mu.Lock()
	b.runs++
	b.mu.Unlock()
	go func() {
		defer b.done()
		f()
	}()
}

func (b *background) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs--
	if b.runs == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// Wait returns when none runs.
func (b *background) Wait() {
	b.mu.Lock()
	if b.runs == 0 {
		b.mu.Unlock()
		return
	}
	if b.idle == nil {
		b.idle = make(chan struct{})
	}
	idle := b.idle
	b.mu.Unlock()
	<-idle
}
