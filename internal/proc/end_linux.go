//go:build linux && (amd64 || arm64)

package proc

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// End ends the program with everything that it started, wherever it went:
// politely first, by force when grace is over. It returns when nothing is left.
// It may be called after the program has ended, to end what it left behind,
// and costs next to nothing when that is nothing.
func (p *Process) End(grace time.Duration) {
	if p.released.Load() {
		return // what held it may hold another command by now
	}
	if p.ended.Load() && !p.leftovers() {
		p.release(true)
		return
	}
	p.ask()
	if !p.waitGone(grace) {
		p.force()
	}
	p.Status()
	p.engine.orphans.collect()
	p.release(false)
}

// ask sends SIGTERM to the process group, and to whoever has left it.
func (p *Process) ask() {
	if !p.ended.Load() {
		_ = unix.Kill(-p.pid, unix.SIGTERM)
	}
	for _, pid := range p.place.members() {
		if group, err := unix.Getpgid(pid); err == nil && (group != p.pid || p.ended.Load()) {
			_ = unix.Kill(pid, unix.SIGTERM)
		}
	}
}

// leftovers reports whether anything of a command runs whose program has ended.
func (p *Process) leftovers() bool { return p.place.populated() }

// Pauses between looks: what ends quickly is noticed quickly.
const (
	firstPause = 500 * time.Microsecond
	lastPause  = 16 * time.Millisecond
)

// waitGone waits until nothing of the command runs, at most for d.
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
		p.engine.orphans.collect()
	}
	return true
}

// forceLimit bounds how long the force is used. A process that cannot be
// killed waits for a device; nothing but the device ends it.
const forceLimit = 2 * time.Second

// force kills until nothing is left.
func (p *Process) force() {
	limit := time.Now().Add(forceLimit)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		p.place.kill()
		// The program itself, if it cannot be seen (a setuid program's limits).
		if !p.ended.Load() {
			_ = unix.Kill(-p.pid, unix.SIGKILL)
		}
		if p.Await(context.Background(), pause); p.ended.Load() {
			time.Sleep(pause)
		}
		if p.ended.Load() && p.place.over() || time.Now().After(limit) {
			return
		}
		p.engine.orphans.collect()
	}
}

// killMarked kills every process whose mark matches, but for one. Whoever forks faster than
// a list can be read is stopped first: when a look finds nobody new, nobody is
// left who could fork.
func killMarked(match func(mark) bool, but int) {
	stopped := map[int]bool{}
	const rounds = 64
	for range rounds {
		fresh := 0
		for _, pid := range marked(match) {
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
		if match(markOf(pid)) { // not somebody else's by now
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// release gives the place back, once; empty says that somebody has looked. What
// its control group has counted is added to the status.
func (p *Process) release(empty bool) {
	if !p.released.Swap(true) {
		p.place.settle(&p.status.Usage)
		p.place.in.giveBack(p.place, empty)
	}
}
