//go:build linux && (amd64 || arm64)

package proc

import (
	"sync"
	"time"
)

// pace is how closely commands follow each other. What is made behind one command
// for the next one saves time only where somebody has time: where commands run at
// once, or one right after the other, it is made when it is needed, and fewer
// processes have to be woken.
type pace struct {
	mu      sync.Mutex
	running int
	ended   time.Time // when the last one did
	hurried bool      // one came right after the last one
}

// leisure is how long nothing must have ended before a command.
const leisure = 100 * time.Microsecond

// begin is called when a command is to be started.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running++
	p.hurried = time.Since(p.ended) < leisure
}

// end is called when nothing of a command is left, and reports whether there is
// time to get ready for the next one.
func (p *pace) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.ended = time.Now()
	return p.running == 0 && !p.hurried
}
