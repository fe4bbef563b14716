//go:build !unix

package proc

// Without process groups, only the program itself can be ended.

func (p *Process) terminate() { p.kill() }

func (p *Process) kill() { _ = p.cmd.Process.Kill() }

func (p *Process) groupGone() bool { return p.ended() }
