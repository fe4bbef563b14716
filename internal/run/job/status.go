package job

import (
	"time"

	"tipstaff"
)

// State is what a command is doing.
type State string

const (
	Running  State = "running"   // or about to
	Exited   State = "exited"    // by itself, with any code, or by a signal
	TimedOut State = "timed_out" // its time was up
	Stopped  State = "stopped"   // it was ended: by stop_command, or with its session, connection or server
)

// Status describes a command at one moment.
type Status struct {
	ID         tipstaff.RequestID
	Line       string
	State      State
	Background bool
	Started    time.Time
	Age        time.Duration   // since its start, until its end
	Result     tipstaff.Result // of one that has ended, without its output
	Why        string          // why it was stopped
	Bytes      int64           // that it has printed, if they are kept
}

// Status returns the present status of the command.
func (j *Job) Status() Status {
	j.mu.Lock()
	s := Status{ID: j.id, Line: j.line, State: Running, Background: j.background, Started: j.begun, Result: j.result}
	endedAt, stopped := j.endedAt, j.stopped
	j.mu.Unlock()
	if out, kept := j.Output(); kept {
		s.Bytes = out.Size()
	}
	if endedAt.IsZero() {
		if !s.Started.IsZero() {
			s.Age = time.Since(s.Started)
		}
		return s
	}
	s.Age = endedAt.Sub(s.Started)
	s.State = Exited
	switch {
	case s.Result.Cause == tipstaff.TimedOut:
		s.State = TimedOut
	case s.Result.Cause == tipstaff.Cancelled, s.Result.Cause == tipstaff.Stopped:
		s.State = Stopped
		if stopped != nil {
			s.Why = stopped.Error()
		}
	}
	return s
}

// Done is closed when the command has ended.
func (j *Job) Done() <-chan struct{} { return j.done }
