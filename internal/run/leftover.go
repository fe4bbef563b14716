package run

import (
	"sync"
	"time"

	"tipstaff"
	"tipstaff/internal/proc"
	"tipstaff/internal/sandbox"
)

// Leftover are the processes that a command of a script has left running: a daemon, or
// what a program has detached. They stay confined as the command was, but for its doors,
// which were closed with it. Whoever takes them over must end them. The methods may be
// called concurrently.
type Leftover struct {
	*proc.Process
	mu       sync.Mutex
	confined *sandbox.Confined
	timer    *time.Timer // ends them when the command's time would have been up
	over     bool
	ended    int
}

// leave hands over what a command has left running that has ended by itself, and reports
// whether somebody has taken it, with how the command ended. The rest of the command's
// time is what these processes have.
func leave(live Live, cause tipstaff.Cause, p Started, c *sandbox.Confined, rest time.Duration) (st proc.Status, taken bool) {
	own, is := p.(*proc.Process)
	if live.Leave == nil || cause != tipstaff.Exited || !is || !own.Outlived() {
		return st, false
	}
	st = own.Status() // before others have its processes
	l := &Leftover{Process: own}
	l.mu.Lock()
	l.confined = c.Rest(func() { go l.End(StopGrace) })
	l.timer = time.AfterFunc(rest, func() { l.End(StopGrace) })
	l.mu.Unlock()
	return st, live.Leave(l) || !l.giveUp()
}

// end ends what a command has left running, unless somebody takes it. It returns how the
// command ended, and how many processes still ran.
func end(live Live, cause tipstaff.Cause, p Started, c *sandbox.Confined, grace, rest time.Duration) (st proc.Status, left int) {
	if st, taken := leave(live, cause, p, c, rest); taken {
		return st, 0
	}
	left = p.End(grace)
	return p.Status(), left
}

// giveUp leaves the processes to the command again, and reports whether they have not
// been ended meanwhile.
func (l *Leftover) giveUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.over = true
	l.timer.Stop()
	l.confined.Release()
	return true
}

// Extend gives the processes another time from now on; false: they are ended already.
func (l *Leftover) Extend(life time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over && l.timer.Reset(life)
}

// End ends the processes as [proc.Process.End] does, and returns how many still ran. A
// further call waits for the first one.
func (l *Leftover) End(grace time.Duration) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		l.timer.Stop()
		l.ended = l.Process.End(grace)
		l.confined.Release()
	}
	return l.ended
}
