package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
	"tipstaff/internal/script/interp"
	"tipstaff/internal/script/ipc"
)

// asker asks the server for commands: it is what the interpreter takes for the
// host of its programs.
type asker struct {
	conn   *ipc.Conn
	null   *os.File
	closed *os.File // stands for a closed descriptor: nothing can be read or written
	writes bool

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan ipc.Message
	kill    func(signal int) // ends the script; nil before it begins
	ending  int              // the signal by which it ends; 0: none
}

// begin takes what ends the script by a signal.
func (a *asker) begin(kill func(signal int)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kill = kill; a.ending != 0 {
		kill(a.ending)
	}
}

// end ends the script by a signal, now or as soon as it begins.
func (a *asker) end(signal int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ending = signal; a.kill != nil {
		a.kill(signal)
	}
}

func newAsker(conn *ipc.Conn) (*asker, error) {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the root: %w", err)
	}
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("no script without it: %w", err)
	}
	return &asker{conn: conn, null: null, closed: os.NewFile(uintptr(fd), "closed"), writes: true, waiting: map[uint64]chan ipc.Message{}}, nil
}

// listen gives what the server says to the commands that wait for it. It returns
// when the server is gone.
func (a *asker) listen() error {
	for {
		m, files, err := a.conn.Receive()
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
			return nil
		}
		if err != nil {
			return err
		}
		ipc.CloseAll(files)
		if m.Kind == ipc.End {
			a.end(m.Number)
			continue
		}
		if m.Kind != ipc.Started && m.Kind != ipc.Ended {
			return fmt.Errorf("an unexpected message of kind %d", m.Kind)
		}
		a.mu.Lock()
		to := a.waiting[m.ID]
		if m.Kind == ipc.Ended {
			delete(a.waiting, m.ID)
		}
		a.mu.Unlock()
		if to != nil {
			select {
			case to <- m:
			default: // more than one Started
			}
		}
	}
}

// Run implements [interp.Host].
func (a *asker) Run(c *interp.Command, started func(interp.Process)) interp.Outcome {
	m := ipc.Message{
		Kind: ipc.Ask, Words: c.Words, Environment: c.Environment, Directory: c.Directory, Line: c.Line, Column: c.Column, WantNumber: started != nil,
		Umask: c.Umask, Files: c.MostFiles, Ignored: c.Ignored, Trap: c.Trap,
	}
	fds := []int{int(c.At.Fd())}
	for _, f := range c.Files {
		if f == nil {
			f = a.closed
		}
		fds = append(fds, int(f.Fd()))
	}
	answers := make(chan ipc.Message, 2)
	a.mu.Lock()
	a.last++
	m.ID = a.last
	a.waiting[m.ID] = answers
	a.mu.Unlock()
	err := a.conn.Send(m, fds...)
	runtime.KeepAlive(c)
	if err != nil {
		a.mu.Lock()
		delete(a.waiting, m.ID)
		a.mu.Unlock()
		return interp.Outcome{Code: 126, Text: fmt.Sprintf("%s: %v", c.Words[0], err)}
	}
	for {
		answer := <-answers
		if answer.Kind == ipc.Started {
			if started != nil {
				started(&process{a, m.ID, answer.Number})
			}
			continue
		}
		return interp.Outcome{
			Code: answer.Code & 0xff, Signal: answer.Number, Refused: answer.Refused, Textual: answer.Textual, Text: answer.Text,
			User: time.Duration(answer.UserNanoseconds), System: time.Duration(answer.SystemNanoseconds),
		}
	}
}

// process is a command that the server has started.
type process struct {
	a      *asker
	id     uint64
	number int
}

// Number implements [interp.Process].
func (p *process) Number() int { return p.number }

// Signal implements [interp.Process]. The server knows whether the command still runs.
func (p *process) Signal(number int) {
	_ = p.a.conn.Send(ipc.Message{Kind: ipc.Signal, ID: p.id, Number: number}) // a server that is gone ends this process
}

// errReadOnly is what a redirection gives where scripts may only read.
var errReadOnly = errors.New("scripts may not write files here; only /dev/null, /dev/stdout and /dev/stderr")

// readOnly takes from this process the power to write files.
func (a *asker) readOnly() error {
	a.writes = false
	return proc.ForbidWriting()
}

// MayWrite implements [interp.Host].
func (a *asker) MayWrite(string) error {
	if a.writes {
		return nil
	}
	return errReadOnly
}
