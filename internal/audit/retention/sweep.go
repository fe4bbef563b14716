package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tipstaff/internal/audit"
)

// Options say what to keep, and where.
type Options struct {
	Dir        string // of trails
	Trails     Bounds
	Recordings Bounds
	By         string           // for people: who removes
	Now        func() time.Time // nil: the machine's clock
	Uncopied   Uncopied         // nil: no copies are due
	// Archived says that trails that lie in an archive as a whole go, too, when they
	// are older than the bound. The archive has to be there.
	Archived bool
	// Background says that no person has asked for this sweep just now. Then a clock that
	// went forward removes nothing before it has stood for a day; see clockGuard.
	Background bool
}

// SweepResult is what a sweep has done.
type SweepResult struct {
	Trails, Segments, Recordings int
	Bytes                        int64      // that are free now
	Kept, KeptRecordings         int64      // bytes on the disk behind it
	Held                         *ClockHold // why nothing went for its age; nil: what was too old did
}

// Sweep removes what the bounds do not keep. It goes on after a trail that cannot be
// retired, and ends early when ctx is done, between two trails; then the next sweep
// goes on. The error is [audit.ErrBusy] if another process is at it.
func Sweep(ctx context.Context, o Options) (SweepResult, error) {
	var s SweepResult
	k, err := audit.NewKeeper(o.Dir, o.By, o.now)
	if err != nil {
		return s, fmt.Errorf("cannot retire what is old: %w", err)
	}
	defer k.Close()
	failed := []error{k.Mend()}
	stocks, err := audit.Inventories(o.Dir, o.now())
	if err != nil {
		return s, fmt.Errorf("cannot retire what is old: %w", err)
	}
	for i := range stocks { // what goes is subtracted below
		s.Kept += stocks[i].Bytes
		for _, r := range stocks[i].Recordings {
			s.KeptRecordings += r.Bytes
		}
	}
	now := o.now()
	by, held, err := o.agesBy(stocks, now)
	failed, s.Held = append(failed, err), held
	tasks := planAll(stocks, o, by)
	for _, t := range tasks {
		if ctx.Err() != nil {
			break
		}
		retire := func() (audit.Moved, error) { return k.Retire(t.trail, t.last) }
		if t.archived {
			retire = func() (audit.Moved, error) { return k.RetireArchived(t.trail) }
		}
		m, err := retire()
		if errors.Is(err, audit.ErrNotSealed) { // its checkpoint comes within seconds
			continue
		}
		if failed = append(failed, err); err == nil {
			s.add(m)
			s.Kept -= t.bytes
		}
	}
	trails, names := planRecordings(stocks, o.Recordings, now, by)
	for _, trail := range trails {
		if ctx.Err() != nil {
			break
		}
		if wholly(tasks, trail) {
			continue
		}
		m, err := k.RetireFiles(trail, names[trail])
		if failed = append(failed, err); err == nil {
			s.add(m)
			s.KeptRecordings -= m.Bytes
		}
	}
	return s, errors.Join(failed...)
}

// wholly reports whether a trail went with all its recordings.
func wholly(tasks []task, trail string) bool {
	for _, t := range tasks {
		if t.trail == trail {
			return t.last == ""
		}
	}
	return false
}

func (s *SweepResult) add(m audit.Moved) {
	s.Segments += m.Segments
	s.Recordings += m.Files
	s.Bytes += m.Bytes
	if m.Whole && m.Removed {
		s.Trails++
	}
}

// Anything reports whether something was removed.
func (s SweepResult) Anything() bool { return s.Trails+s.Segments+s.Recordings > 0 }
