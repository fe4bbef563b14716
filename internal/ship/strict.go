package ship

import (
	"fmt"
	"time"

	"tipstaff"
	"tipstaff/internal/engine"
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
			return unconfirmed(fmt.Errorf("the shipper has ended"))
		}
		select {
		case <-changed:
		case <-late.C:
			if err == nil {
				err = engine.ErrUnanswered
			}
			return unconfirmed(fmt.Errorf("no acknowledgement within %v: %w", s.opts.Patience, err))
		}
	}
}

// unconfirmed is what a caller is told.
func unconfirmed(err error) error {
	return &tipstaff.Error{
		Code: tipstaff.NotRecorded, Rule: "record", Err: fmt.Errorf("the copy of the record was not acknowledged: %w", err),
		Msg:  "The copy of the audit record was not acknowledged, so nothing was started.",
		Hint: "No record, no run: this server starts a command when its record is kept elsewhere as well. The operator has to bring the engine's streams back. Then the same call works again.",
	}
}
