package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tipstaff/internal/audit"
)

// Step is what goes of one trail.
type Step struct {
	Trail   string
	Whole   bool
	Segment string // the last one that goes; "" if Whole
	Bytes   int64
	At      time.Time // of the last record that goes
	Files   int       // recordings, if these go alone
}

// Plan says what [Sweep] would remove.
func Plan(o Options) ([]Step, error) {
	now := o.now()
	stocks, err := audit.Inventories(o.Dir, now)
	if err != nil {
		return nil, fmt.Errorf("cannot tell what is old: %w", err)
	}
	var steps []Step
	for _, t := range planAll(stocks, o, now) {
		steps = append(steps, Step{Trail: t.trail, Whole: t.last == "", Segment: t.last, Bytes: t.bytes, At: t.at})
	}
	trails, names := planRecordings(stocks, o.Recordings, now, now)
	for _, trail := range trails {
		steps = append(steps, Step{Trail: trail, Files: len(names[trail])})
	}
	return steps, nil
}

// Archive moves what the bounds of o do not keep into the archive in a directory, and
// calls done for each trail of which something was moved. It goes on after a trail that
// cannot be archived.
func Archive(ctx context.Context, o Options, to string, done func(audit.Moved)) error {
	k, err := audit.NewKeeper(o.Dir, o.By, o.now)
	if err != nil {
		return fmt.Errorf("cannot archive: %w", err)
	}
	defer k.Close()
	if err := k.OpenArchive(to); err != nil {
		return err
	}
	failed := []error{k.Mend()}
	stocks, err := audit.Inventories(o.Dir, o.now())
	if err != nil {
		return fmt.Errorf("cannot archive: %w", err)
	}
	for _, t := range plan(stocks, o.Trails, o.now(), o.Uncopied) {
		if ctx.Err() != nil {
			return errors.Join(append(failed, context.Cause(ctx))...)
		}
		m, err := k.Archive(t.trail, to, t.last)
		if errors.Is(err, audit.ErrNotSealed) {
			continue
		}
		failed = append(failed, err)
		if err == nil {
			done(m)
		}
	}
	return errors.Join(failed...)
}

func (o *Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}
