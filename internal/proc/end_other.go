//go:build !unix

package proc

import "syscall"

// Without process groups, only the program itself can be ended.

func (p *Process) terminate() { p.kill() }

func (p *Process) kill() { _ = p.cmd.Process.Kill() }

func (p *Process) signalAll(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

func (p *Process) groupGone() bool { return p.ended() }
