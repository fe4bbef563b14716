//go:build unix && !(linux && (amd64 || arm64))

package proc

import "syscall"

// The group keeps the id of its leader. Once the leader is reaped and the
// group empty, the id is free; it comes round again only after the kernel has
// handed out every other one, and End asks within its grace.

func (p *Process) terminate() { p.signalGroup(syscall.SIGTERM) }

func (p *Process) kill() { p.signalGroup(syscall.SIGKILL) }

func (p *Process) signalGroup(s syscall.Signal) { _ = syscall.Kill(-p.PID(), s) }

func (p *Process) groupGone() bool {
	return p.ended() && (syscall.Kill(-p.PID(), 0) == syscall.ESRCH || !groupRuns(p.PID()))
}
