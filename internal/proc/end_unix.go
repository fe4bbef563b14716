//go:build unix && !(linux && (amd64 || arm64))

package proc

import "syscall"

// A process group has the id of its leader. Once the leader is reaped and the
// group is empty, the kernel may reuse the id, but only after it has used all
// others; End signals the group within the grace period.

func (p *Process) terminate() { p.signalGroup(syscall.SIGTERM) }

func (p *Process) kill() { p.signalGroup(syscall.SIGKILL) }

func (p *Process) signalGroup(s syscall.Signal) { _ = syscall.Kill(-p.PID(), s) }

func (p *Process) signalAll(s syscall.Signal) error { return syscall.Kill(-p.PID(), s) }

func (p *Process) groupGone() bool {
	return p.ended() && (syscall.Kill(-p.PID(), 0) == syscall.ESRCH || !groupRuns(p.PID()))
}
