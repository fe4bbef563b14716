//go:build linux && (amd64 || arm64)

package proc

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// End ends the program with everything that it started, wherever that went: with
// SIGTERM first, and with SIGKILL after the grace period. It returns when no process is
// left, or when SIGKILL has had no effect for two seconds, which means that a process
// waits for a device. left is how many processes still ran although the program had
// ended before the call. If there are none, End costs next to nothing. It must be
// called once for each program, and may be called again.
func (p *Process) End(grace time.Duration) (left int) {
	if p.released.Load() {
		return 0 // the instance may hold another command by now
	}
	alone := p.ended.Load()
	if alone && !p.leftovers() {
		p.release(true)
		return 0
	}
	if asked := p.ask(); alone {
		left = asked
	}
	if !p.waitGone(grace) {
		p.force()
	}
	p.Status()
	p.reapOrphans()
	p.release(false)
	return left
}

// ask sends SIGTERM to the process group, and to descendants that have left it,
// and returns how many of these still ran.
func (p *Process) ask() (n int) {
	if !p.ended.Load() {
		_ = unix.Kill(-p.pid, unix.SIGTERM)
	}
	for _, pid := range p.instance.members(p.pid) {
		if group, err := unix.Getpgid(pid); err == nil && (group != p.pid || p.ended.Load()) {
			if running(pid) {
				n++
			}
			_ = unix.Kill(pid, unix.SIGTERM)
		}
	}
	return n
}

// leftovers reports whether descendants still run after the program has ended.
func (p *Process) leftovers() bool { return p.instance.populated() }

// Intervals between checks. The first is short, so that a quick end is noticed
// quickly.
const (
	firstPause = 500 * time.Microsecond
	lastPause  = 16 * time.Millisecond
)

// waitGone waits until no process of the command runs, at most for d. It polls, because
// the kernel reports the end of the program only.
func (p *Process) waitGone(d time.Duration) bool {
	limit := time.Now().Add(d)
	if !p.Await(context.Background(), d) {
		return false
	}
	for pause := firstPause; p.leftovers(); pause = min(2*pause, lastPause) {
		left := time.Until(limit)
		if left <= 0 {
			return false
		}
		time.Sleep(min(pause, left))
		p.reapOrphans()
	}
	return true
}

// forceLimit bounds how long force keeps killing. A process that cannot be
// killed waits for a device, and only the device can end that.
const forceLimit = 2 * time.Second

// force kills until no process is left, or forceLimit is over. It repeats, because a
// process may have forked between the look and the signal.
func (p *Process) force() {
	limit := time.Now().Add(forceLimit)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		p.instance.kill()
		// A program whose limits cannot be read (set-user-ID) is not found by its tag.
		if !p.ended.Load() {
			_ = unix.Kill(-p.pid, unix.SIGKILL)
		}
		if p.Await(context.Background(), pause); p.ended.Load() {
			time.Sleep(pause)
		}
		if p.ended.Load() && p.instance.allGone() || time.Now().After(limit) {
			return
		}
		p.reapOrphans()
	}
}

// reapOrphans reaps what the command has left to the server. In a PID namespace
// that is nothing: its first process gets all orphans.
func (p *Process) reapOrphans() {
	if p.instance.space == nil {
		p.engine.orphans.collect()
	}
}

// killTagged kills all processes whose tag matches, except one. It stops them first: a
// program that forks faster than the list can be read would escape, but a stopped
// process forks no more. When a listing finds no new process, none is left that could
// fork. Before the kill it reads each tag again, because the id may belong to another
// process by now.
func killTagged(match func(descendantTag) bool, but int) {
	stopped := map[int]bool{}
	const rounds = 64
	for range rounds {
		fresh := 0
		for _, pid := range tagged(match) {
			if !stopped[pid] && pid != but {
				_ = unix.Kill(pid, unix.SIGSTOP)
				stopped[pid] = true
				fresh++
			}
		}
		if fresh == 0 {
			break
		}
	}
	for pid := range stopped {
		if match(tagOf(pid)) { // the id may belong to another process by now
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// release returns the instance, once. empty says that the caller has checked that no
// process is left in it. It adds the counters of the control group to the status.
func (p *Process) release(empty bool) {
	p.holding.Lock()
	late := p.released.Swap(true)
	p.holding.Unlock()
	if !late {
		p.instance.settle(&p.status.Usage)
		p.instance.in.giveBack(p.instance, empty)
	}
}
