package retention

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/audit"
)

const day = 24 * time.Hour

func TestAClockThatWentForwardIsBelievedWhenItHasStood(t *testing.T) {
	at := func(days float64) time.Time { return now().Add(time.Duration(days * float64(day))) }
	for _, c := range []struct {
		name   string
		newest time.Time // of the records
		clock  []float64 // days, at each sweep
		want   []float64 // days, by which ages are told
	}{
		{"it goes as time goes", at(-1), []float64{0, .1, 1, 2.9}, []float64{0, .1, 1, 2.9}},
		{"no record was there", time.Time{}, []float64{0, .1}, []float64{0, .1}},
		{"ten years forward, and back again", at(0), []float64{.1, 3650, 3650.5, .2, 1}, []float64{.1, .1, .1, .2, 1}},
		{"ten years forward, and it stays so", at(0), []float64{.1, 3650, 3650.9, 3651, 3651.1}, []float64{.1, .1, .1, 3651, 3651.1}},
		{"forward before the first sweep", at(0), []float64{3650, 3650.5, 3651.1}, []float64{0, 0, 3651.1}},
		{"a machine that runs for an hour a week", at(-7), []float64{0, 7, 7.04, 14, 14.04, 21}, []float64{-7, 0, 0, 7.04, 7.04, 14.04}},
		{"back", at(0), []float64{.1, -20, -19}, []float64{.1, -20, -19}},
	} {
		var p clockGuard
		for i, days := range c.clock {
			p = p.step(at(days), c.newest)
			if !p.trusted.Equal(at(c.want[i])) {
				t.Errorf("%s: when the clock says %v days, ages are told by %v days, want %v", c.name, days, p.trusted.Sub(now()).Hours()/24, c.want[i])
			}
		}
	}
}

// TestAClockThatWentForwardRemovesNothingForADay: neither at once nor after a restart,
// and not without a word. What is beyond a size goes all the same.
func TestAClockThatWentForwardRemovesNothingForADay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	for _, age := range []time.Duration{50 * day, 20 * day, 10 * day, day} {
		write(t, dir, now().Add(-age), 5, nil)
	}
	clock := now()
	o := Options{Dir: dir, Trails: Bounds{Age: 30 * day}, Background: true, Now: func() time.Time { return clock }}
	sweep := func(forward time.Duration, want int, held bool) {
		t.Helper()
		clock = now().Add(forward)
		s, err := Sweep(t.Context(), o)
		if s.Trails != want || (s.Held != nil) != held || err != nil {
			t.Errorf("after %v: %d trails, %v, %v", forward, s.Trails, s.Held, err)
		}
		verify(t, dir, 4)
	}
	sweep(0, 1, false)
	sweep(3650*day, 0, true)
	sweep(3650*day+23*time.Hour, 0, true)
	kept := Bounds{Age: 30 * day, Bytes: 1}
	saved := filepath.Join(t.TempDir(), "audit")
	if err := os.CopyFS(saved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(saved, "keys", "audit.key"), 0o400); err != nil {
		t.Fatal(err)
	}
	small := o
	small.Dir, small.Trails = saved, kept
	if s, err := Sweep(t.Context(), small); s.Trails != 3 || s.Held == nil || err != nil {
		t.Errorf("beyond a size: %+v, %v", s, err)
	}
	asked := o // the control
	asked.Background, asked.Trails = false, Bounds{Age: 3650*day + 15*day}
	if s, err := Sweep(t.Context(), asked); s.Trails != 1 || err != nil {
		t.Errorf("a person asks: %+v, %v", s, err)
	}
	sweep(3651*day, 2, false)
}

// TestAClockThatWasSetBackStopsNoSweep: a sweep in the future is none.
func TestAClockThatWasSetBackStopsNoSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	write(t, dir, now().Add(-50*day), 5, nil)
	var log bytes.Buffer
	s := &Sweeper{o: Options{Dir: dir, Trails: Bounds{Age: 30 * day}, Now: now}, log: slog.New(slog.NewTextHandler(&log, nil))}
	stamp := filepath.Join(dir, ".keeper")
	for _, c := range []struct {
		ahead time.Duration
		want  uint64
	}{{-time.Minute, 0}, {time.Hour, 1}} {
		at := time.Now().Add(c.ahead)
		if err := errors.Join(os.WriteFile(stamp, nil, 0o600), os.Chtimes(stamp, at, at)); err != nil {
			t.Fatal(err)
		}
		s.sweep(t.Context())
		if got := s.Status(); got.Sweeps != c.want || got.Swept.Trails != int(c.want) {
			t.Errorf("the last sweep was %v from now: %+v", c.ahead, got)
		}
	}
	// A clock in doubt is a warning, once, and no error.
	s.o.Background, s.o.Now = true, func() time.Time { return now().Add(3650 * day) }
	write(t, dir, now(), 5, nil)
	for range 2 {
		if err := os.Remove(stamp); err != nil {
			t.Fatal(err)
		}
		s.sweep(t.Context())
	}
	if st := s.Status(); st.Errors != 0 || strings.Count(log.String(), "nothing is retired for its age yet") != 1 {
		t.Errorf("%+v\n%s", st, &log)
	}
	if audit.LastSweep(dir).IsZero() {
		t.Error("it was not swept")
	}
}
