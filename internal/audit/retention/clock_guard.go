package retention

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tipstaff/internal/atomicfile"
	"tipstaff/internal/audit"
)

// What is removed does not come back when the clock is set right. So a sweep that no
// person has asked for follows the clock as long as it goes on from the sweep before.
// When it is ahead of that by more than maxPause, then it was set forward, or nothing
// ran meanwhile, and that cannot be told apart: ages are told by the time before, until
// the clock has stood for trustAfter, or until the next such pause.

const (
	// maxPause is the longest time between two sweeps that is believed at once.
	maxPause = 48 * time.Hour
	// trustAfter is how long a clock that went forward is in doubt.
	trustAfter = 24 * time.Hour
)

// ClockHold says why nothing was removed for its age: the clock went forward.
type ClockHold struct {
	By    time.Duration // from the time that was known before
	Until time.Time
}

// String returns that as a sentence, with what to do.
func (h *ClockHold) String() string {
	return fmt.Sprintf("the clock is %v ahead of the last sweep, or of the last record: it was set, or nothing ran meanwhile. What is too old goes from %s on, what is beyond a size at once; if the clock is right, tipstaff audit prune removes it now",
		h.By.Round(time.Second), h.Until.UTC().Format(time.RFC3339))
}

// clockGuard is what sweeps know of the clock.
type clockGuard struct {
	trusted time.Time // ages are told by it
	last    time.Time // what the clock said at the last sweep
	since   time.Time // when the doubt began; zero: there is none
}

// step is a sweep when the clock says now. newest is the time of the last record that
// is known, for the first sweep; zero: there is none.
func (p clockGuard) step(now, newest time.Time) clockGuard {
	if p.trusted.IsZero() {
		p.trusted, p.last = now, now
		if !newest.IsZero() && newest.Before(now) {
			p.trusted, p.last = newest, newest
		}
	}
	if now.Before(p.last) { // it was set back
		p.since = time.Time{}
		if now.Before(p.trusted) {
			p.trusted = now
		}
	}
	stood := !p.since.IsZero() && now.Sub(p.since) >= trustAfter
	switch {
	case now.Sub(p.last) > maxPause:
		if stood {
			p.trusted = p.last
		}
		p.since = now
	case p.since.IsZero() || stood:
		p.trusted, p.since = now, time.Time{}
	}
	p.last = now
	return p
}

// clockFile is beside the trails. Only a sweep writes it, of which there is one at a time.
const clockFile = ".swept"

// agesBy returns the time by which this sweep tells ages, and why that is not what the
// clock says; nil: it is.
func (o *Options) agesBy(stocks []audit.Inventory, now time.Time) (by time.Time, held *ClockHold, err error) {
	if !o.Background || o.Trails.Age == 0 && o.Recordings.Age == 0 {
		return now, nil, nil
	}
	var newest time.Time
	for i := range stocks {
		if s := &stocks[i]; s.Ended && s.Last.After(newest) {
			newest = s.Last
		}
	}
	path := filepath.Join(o.Dir, clockFile)
	p := readClockGuard(path).step(now, newest)
	if !p.since.IsZero() {
		held = &ClockHold{p.since.Sub(p.trusted), p.since.Add(trustAfter)}
	}
	return p.trusted, held, writeClockGuard(path, p)
}

// readClockGuard reads what an earlier sweep has written; nothing if that cannot be read.
func readClockGuard(path string) (p clockGuard) {
	data, err := audit.ReadRegular(path)
	if err != nil {
		return p
	}
	words := strings.Fields(string(data))
	times := []*time.Time{&p.trusted, &p.last, &p.since}
	if len(words) != len(times) {
		return clockGuard{}
	}
	for i, at := range times {
		if *at, err = time.Parse(time.RFC3339Nano, words[i]); err != nil {
			return clockGuard{}
		}
	}
	return p
}

func writeClockGuard(path string, p clockGuard) error {
	var text strings.Builder
	for _, at := range []time.Time{p.trusted, p.last, p.since} {
		text.WriteString(at.UTC().Format(time.RFC3339Nano) + "\n")
	}
	return atomicfile.Replace(path, strings.NewReader(text.String()), atomicfile.Options{Mode: 0o600})
}
