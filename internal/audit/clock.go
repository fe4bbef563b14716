package audit

import (
	"fmt"
	"time"
)

// Times on a trail never go back, because readers search it by bisection. But the clock
// of the machine can be set, in both directions. The trail follows the clock, and writes
// a record when it was set. After it was set back, the times of records continue from
// the last one, as fast as real time passes: they are ahead of the clock by the
// difference that the record names.

// maxSkew is the difference between clock and time that is worth no record, and
// the longest that the times of records stand still.
const maxSkew = time.Second

// clock follows the clock of the machine for one trail. See the comment above for the
// rules.
type clock struct {
	raw  time.Time     // what it said at the last record
	skew time.Duration // how far the times of records are ahead of it
	run  time.Time     // see reading
	// since is what passed between two readings, whatever the clock was set to
	// meanwhile; nil: that is not known, and times stand still until the clock has
	// caught up.
	since func(from, to time.Time) time.Duration
}

// elapsed is since for readings of the clock of the machine, which also carry a
// monotonic reading. That one stands still while the machine sleeps, so a clock that
// went on meanwhile looks as if it had been set.
func elapsed(from, to time.Time) time.Duration { return to.Sub(from) }

// jump is how far the clock was set since the last record; negative: back.
func (c *clock) jump(raw time.Time) time.Duration {
	if c.raw.IsZero() || c.since == nil {
		return 0
	}
	by := raw.Round(0).Sub(c.raw.Round(0)) - c.since(c.raw, raw)
	if by.Abs() <= maxSkew {
		return 0
	}
	return by
}

// reading is the time of a record.
type reading struct {
	at   time.Time
	skew time.Duration // how far the times of records are ahead of the clock from here on
	run  time.Time     // what the time would be if the clock had not been set back since it was followed last
}

// read returns the time of a record that is written when the clock says raw, after one
// with the time last. It never returns a time before last: readers search trails by
// bisection.
func (c *clock) read(raw, last time.Time) reading {
	now := raw.UTC().Round(0)
	// A clock that was set forward may have come up with the times.
	r := reading{skew: max(c.skew-c.jump(raw), 0)}
	r.at = now.Add(r.skew)
	r.run = r.at
	if c.since != nil && !c.raw.IsZero() {
		r.run = c.run.Add(c.since(c.raw, raw))
	}
	switch {
	case r.at.After(r.run):
		r.run = r.at
	case r.run.Sub(r.at) > maxSkew: // small steps, too, add up
		r.at, r.skew = r.run, r.run.Sub(now)
	}
	if r.at.Before(last) {
		r.at = last
	}
	return r
}

// follow notes that a record was written.
func (c *clock) follow(raw time.Time, r reading) { c.raw, c.skew, c.run = raw, r.skew, r.run }

// note returns the record that says that the clock was set, nil if it was not. The
// record comes before the one that shows the new time, so that a reader meets the
// explanation first.
func (c *clock) note(raw, last time.Time) *Record {
	skew := c.read(raw, last).skew
	by := c.jump(raw)
	if by == 0 {
		by = c.skew - skew
	}
	if by == 0 {
		return nil
	}
	why := fmt.Sprintf("the clock went forward by %v, or the machine slept", by.Round(time.Millisecond))
	if by < 0 {
		why = fmt.Sprintf("the clock went back by %v", -by.Round(time.Millisecond))
	}
	if skew > 0 {
		why += fmt.Sprintf("; times on this trail are ahead of it by %v", skew.Round(time.Millisecond))
	}
	return &Record{Event: ClockChanged, Why: why}
}
