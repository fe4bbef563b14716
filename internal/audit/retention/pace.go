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
// When it is ahead of that by more than mostPause, then it was set forward, or nothing
// ran meanwhile, and that cannot be told apart: ages are told by the time before, until
// the clock has stood for standing, or until the next such pause.

const (
	// mostPause is the longest time between two sweeps that is believed at once.
	mostPause = 48 * time.Hour
	// standing is how long a clock that went forward is in doubt.
	standing = 24 * time.Hour
)

// Held says why nothing was removed for its age: the clock went forward.
type Held struct {
	By    time.Duration // from the time that was known before
	Until time.Time
}

// String returns that as a sentence, with what to do.
func (h *Held) String() string {
	return fmt.Sprintf("the clock is %v ahead of the last sweep, or of the last record: it was set, or nothing ran meanwhile. What is too old goes from %s on, what is beyond a size at once; if the clock is right, tipstaff audit prune removes it now",
		h.By.Round(time.Second), h.Until.UTC().Format(time.RFC3339))
}

// pace is what sweeps know of the clock.
type pace struct {
	trusted time.Time // ages are told by it
	seen    time.Time // what the clock said at the last sweep
	since   time.Time // when the doubt began; zero: there is none
}

// step is a sweep when the clock says now. newest is the time of the last record that
// is known, for the first sweep; zero: there is none.
func (p pace) step(now, newest time.Time) pace {
	if p.trusted.IsZero() {
		p.trusted, p.seen = now, now
		if !newest.IsZero() && newest.Before(now) {
			p.trusted, p.seen = newest, newest
		}
	}
	if now.Before(p.seen) { // it was set back
		p.since = time.Time{}
		if now.Before(p.trusted) {
			p.trusted = now
		}
	}
	stood := !p.since.IsZero() && now.Sub(p.since) >= standing
	switch {
	case now.Sub(p.seen) > mostPause:
		if stood {
			p.trusted = p.seen
		}
		p.since = now
	case p.since.IsZero() || stood:
		p.trusted, p.since = now, time.Time{}
	}
	p.seen = now
	return p
}

// paceFile is beside the trails. Only a sweep writes it, of which there is one at a time.
const paceFile = ".swept"

// agesBy returns the time by which this sweep tells ages, and why that is not what the
// clock says; nil: it is.
func (o *Options) agesBy(stocks []audit.Stock, now time.Time) (by time.Time, held *Held, err error) {
	if !o.Unasked || o.Trails.Age == 0 && o.Recordings.Age == 0 {
		return now, nil, nil
	}
	var newest time.Time
	for i := range stocks {
		if s := &stocks[i]; s.Ended && s.Last.After(newest) {
			newest = s.Last
		}
	}
	path := filepath.Join(o.Dir, paceFile)
	p := readPace(path).step(now, newest)
	if !p.since.IsZero() {
		held = &Held{p.since.Sub(p.trusted), p.since.Add(standing)}
	}
	return p.trusted, held, writePace(path, p)
}

// readPace reads what an earlier sweep has written; nothing if that cannot be read.
func readPace(path string) (p pace) {
	data, err := audit.ReadRegular(path)
	if err != nil {
		return p
	}
	words := strings.Fields(string(data))
	times := []*time.Time{&p.trusted, &p.seen, &p.since}
	if len(words) != len(times) {
		return pace{}
	}
	for i, at := range times {
		if *at, err = time.Parse(time.RFC3339Nano, words[i]); err != nil {
			return pace{}
		}
	}
	return p
}

func writePace(path string, p pace) error {
	var text strings.Builder
	for _, at := range []time.Time{p.trusted, p.seen, p.since} {
		text.WriteString(at.UTC().Format(time.RFC3339Nano) + "\n")
	}
	return atomicfile.Replace(path, strings.NewReader(text.String()), atomicfile.Options{Mode: 0o600})
}
