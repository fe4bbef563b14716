package script

import (
	"errors"
	"os"

	"tipstaff/internal/proc"
	"tipstaff/internal/run"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/script/ipc"
)

// process is a script process. It runs one script; it may wait for that in its session sandbox.
type process struct {
	*proc.Process
	conn *ipc.Conn
	// While it waits: what makes another one like it.
	scripts *Scripts
	path    string
	dir     *os.File // nil: it does not wait
}

// newProcess starts a script process in a session sandbox.
func (s *Scripts) newProcess(in *proc.Enclosure, dir string, fd uintptr) (*process, error) {
	conn, theirs, err := ipc.Pair()
	if err != nil {
		return nil, err
	}
	// Without variables: those of the script come with it. Its standard streams are
	// not those of the script, which come with it as well.
	p, err := s.Local.Engine.Start(proc.Launch{
		Path: s.Program.Name(), File: s.Program, Argv: s.Argv, Env: []string{}, Dir: fd, DirPath: dir,
		Confine: in, More: []*os.File{theirs},
	})
	if err = errors.Join(err, theirs.Close()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &process{Process: p, conn: conn}, nil
}

// Close ends the script process.
func (p *process) Close() error {
	err := p.conn.Close()
	p.End(0)
	p.taken()
	return err
}

// taken notes that the script process does not wait any more.
func (p *process) taken() {
	if p.dir != nil {
		_ = p.dir.Close()
		p.dir = nil
	}
}

// Renew makes another one that waits, in other constraints.
func (p *process) Renew(in *proc.Enclosure) (sandbox.Standby, error) {
	return p.scripts.waiting(in, p.path, p.dir.Fd())
}

// waiting starts a script process that waits for its script. The first error is logged: the
// script that finds none waiting starts one itself, and tells what is wrong then.
func (s *Scripts) waiting(in *proc.Enclosure, path string, fd uintptr) (sandbox.Standby, error) {
	dir, err := dup(fd)
	if err == nil {
		var p *process
		if p, err = s.newProcess(in, path, fd); err == nil {
			p.scripts, p.path, p.dir = s, path, dir
			return p, nil
		}
		_ = dir.Close()
	}
	s.failed.Do(func() {
		s.Log.Warn("cannot start the process that waits for the next script; scripts start slower", "error", err)
	})
	return nil, err
}

// prepare starts the script process for the next script of a session sandbox, unless the server
// ends. The script that has ended has left its place. It closes dir.
func (s *Scripts) prepare(c run.Prepared, path string, dir *os.File) {
	release := c.Confined.Hold()
	prepare := func() {
		defer release()
		defer func() { _ = dir.Close() }()
		_ = c.Confined.Keep(func(in *proc.Enclosure) (sandbox.Standby, error) { // waiting logs the error
			return s.waiting(in, path, dir.Fd())
		})
	}
	if !s.behind(prepare) {
		release()
		_ = dir.Close()
	}
}
