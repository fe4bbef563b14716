package replicate

import (
	"errors"
	"fmt"
	"time"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/fleet/natsx"
)

// Confirm returns when the stream has acknowledged everything that is on the
// trail now, or with a reason why a command must not start. It waits no longer
// than the patience. One batch serves all that wait.
func (s *Shipper) Confirm() error {
	if s == nil || !s.opts.Strict {
		return nil
	}
	s.mu.Lock()
	want := s.written
	s.goal.confirm = max(s.goal.confirm, want)
	s.mu.Unlock()
	signal(s.urgent)
	late := time.NewTimer(s.opts.Patience)
	defer late.Stop()
	for {
		s.mu.Lock()
		have, ended, err, changed := s.position.Records, s.ended, s.counts.err, s.changed
		s.mu.Unlock()
		switch {
		case have >= want:
			return nil
		case ended:
			return unconfirmed(errors.New("the server ends"))
		}
		select {
		case <-changed:
		case <-late.C:
			if err == nil {
				err = natsx.ErrUnanswered
			}
			return unconfirmed(fmt.Errorf("no acknowledgement within %v: %w", s.opts.Patience, err))
		}
	}
}

// Trail is what records are appended to.
type Trail interface {
	Append(r audit.Record) error
}

// Confirmed is a trail on which the start of a command stands only when it is
// kept elsewhere as well. A start that was not acknowledged gets an end, which
// says that nothing ran.
type Confirmed struct {
	Trail
	By *Shipper
}

// Append writes a record, and for the start of a command waits for the
// acknowledgement of its copy.
func (c Confirmed) Append(r audit.Record) error {
	if err := c.Trail.Append(r); err != nil || r.Event != audit.CommandStart {
		return err
	}
	err := c.By.Confirm()
	if err != nil {
		end := r
		end.Event, end.Code, end.Error = audit.CommandError, tipstaff.NotRecorded, err.Error()
		err = errors.Join(err, c.Trail.Append(end))
	}
	return err
}

// unconfirmed is what a caller is told.
func unconfirmed(err error) error {
	return &tipstaff.Error{
		Code: tipstaff.NotRecorded, Rule: "record", Err: fmt.Errorf("the copy of the record was not acknowledged: %w", err),
		Msg:  "The copy of the audit record was not acknowledged, so nothing was started.",
		Hint: "No record, no run: this server starts a command when its record is kept elsewhere as well. The operator has to bring the engine's streams back. Then the same call works again.",
	}
}
