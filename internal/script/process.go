package script

import (
	"errors"
	"os"

	"tipstaff/internal/proc"
	"tipstaff/internal/runner"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/shellwire"
)

// process is a script process. It runs one script; it may wait for that in its session sandbox.
type process struct {
	*proc.Process
	conn *shellwire.Conn
}

// newProcess starts a script process in a session sandbox.
func (s *Scripts) newProcess(c *sandbox.Confined, dir string, fd uintptr) (*process, error) {
	conn, theirs, err := shellwire.Pair()
	if err != nil {
		return nil, err
	}
	// Without variables: those of the script come with it. Its standard streams are
	// not those of the script, which come with it as well.
	p, err := s.Local.Engine.Start(proc.Launch{
		Path: s.Program.Name(), File: s.Program, Argv: s.Argv, Env: []string{}, Dir: fd, DirPath: dir,
		Confine: c.Confinement, More: []*os.File{theirs},
	})
	if err = errors.Join(err, theirs.Close()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &process{p, conn}, nil
}

// Close ends the script process.
func (p *process) Close() error {
	err := p.conn.Close()
	p.End(0)
	return err
}

// prepare starts the script process for the next script of a session sandbox, unless the server
// ends. The script that has ended has left its place. It closes dir.
func (s *Scripts) prepare(c runner.Cell, path string, dir *os.File) {
	release := c.Confined.Hold()
	prepare := func() {
		defer release()
		defer func() { _ = dir.Close() }()
		if p, err := s.newProcess(c.Confined, path, dir.Fd()); err == nil { // else the next script tells why
			c.Confined.Leave(p)
		}
	}
	if !s.behind(prepare) {
		release()
		_ = dir.Close()
	}
}
