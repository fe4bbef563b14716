package retention

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"tipstaff/internal/audit"
)

const (
	// Every is how often trails are swept.
	Every = 10 * time.Minute
	// soon is how long after the start a server sweeps first.
	soon = 3 * time.Second
)

// Status is what the sweeps of a process have done, and what is there.
type Status struct {
	Swept   SweepResult // all sweeps together; Kept and KeptRecordings of the last one
	Sweeps  uint64
	Errors  uint64
	Last    time.Time // of the last sweep
	Free    int64     // bytes on the file system of the trails; -1: not known
	Bounded bool      // there are bounds
}

// Sweeper sweeps in the background, and looks at how much room there is. A nil Sweeper
// does nothing.
type Sweeper struct {
	o   Options
	log *slog.Logger

	mu        sync.Mutex
	status    Status
	lastError string // the last error that was logged
	held      bool   // it was logged that the clock is in doubt

	cancel context.CancelFunc
	done   chan struct{}
}

// Start begins to sweep. The caller closes it.
func Start(o Options, log *slog.Logger) *Sweeper {
	o.Background = true
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sweeper{o: o, log: log, cancel: cancel, done: make(chan struct{})}
	go s.run(ctx)
	return s
}

// Close ends it behind the trail that is being retired.
func (s *Sweeper) Close() {
	if s == nil {
		return
	}
	s.cancel()
	<-s.done
}

// Status returns the present status.
func (s *Sweeper) Status() Status {
	if s == nil {
		return Status{Free: -1}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Free = Free(s.o.Dir)
	st.Bounded = !s.o.Trails.None() || !s.o.Recordings.None()
	return st
}

func (s *Sweeper) run(ctx context.Context) {
	defer close(s.done)
	low := false
	for pause := soon; ; pause = Every {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		s.sweep(ctx)
		low = s.warnLow(low)
	}
}

// Recently reports whether trails of a directory were swept within a time. A sweep in
// the future is none: the clock was set back since.
func Recently(dir string, within time.Duration) bool {
	ago := time.Since(audit.LastSweep(dir))
	return ago > -time.Second && ago < within
}

// sweep takes one turn, unless another process has just taken one.
func (s *Sweeper) sweep(ctx context.Context) {
	if s.o.Trails.None() && s.o.Recordings.None() || Recently(s.o.Dir, Every/2) {
		return
	}
	swept, err := Sweep(ctx, s.o)
	if errors.Is(err, audit.ErrBusy) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Sweeps++
	s.status.Last = time.Now()
	total := &s.status.Swept
	total.Trails, total.Segments, total.Recordings = total.Trails+swept.Trails, total.Segments+swept.Segments, total.Recordings+swept.Recordings
	total.Bytes, total.Kept, total.KeptRecordings = total.Bytes+swept.Bytes, swept.Kept, swept.KeptRecordings
	if swept.Anything() {
		s.log.Info("retired what the settings do not keep", "trails", swept.Trails, "segments", swept.Segments, "recordings", swept.Recordings, "bytes", swept.Bytes)
	}
	total.Held = swept.Held
	s.logOnce(swept.Held, err)
}

// logOnce logs once what could not be removed, and what is not removed yet. The caller
// holds s.mu.
func (s *Sweeper) logOnce(held *ClockHold, err error) {
	said := ""
	if err != nil {
		s.status.Errors++
		said = err.Error()
	}
	if said != s.lastError && said != "" {
		s.log.Error("cannot retire all that the settings do not keep", "dir", s.o.Dir, "error", said)
	}
	if held != nil && !s.held {
		s.log.Warn("nothing is retired for its age yet", "dir", s.o.Dir, "why", held.String())
	}
	s.lastError, s.held = said, held != nil
}

// lowBytes is what a file system should have free for a trail.
const lowBytes = 1 << 30

// warnLow says once that there is little room.
func (s *Sweeper) warnLow(before bool) (low bool) {
	free := Free(s.o.Dir)
	low = free >= 0 && free < lowBytes
	if low && !before {
		s.log.Warn("there is little room for the audit trail; without room for a record no command runs", "dir", s.o.Dir, "free_bytes", free)
	}
	return low
}
