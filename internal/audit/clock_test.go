package audit

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// machine is a clock that can be set, and time, which cannot.
type machine struct {
	start  time.Time
	passed time.Duration // time
	set    time.Duration // how far the clock was set

	mu   sync.Mutex
	read map[time.Time]time.Duration // when the clock said what, the last time
}

func newMachine() *machine {
	return &machine{start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), read: map[time.Time]time.Duration{}}
}

// after lets time pass, and sets the clock.
func (m *machine) after(passed, set time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passed, m.set = m.passed+passed, m.set+set
}

func (m *machine) clock() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.start.Add(m.passed + m.set)
	m.read[now] = m.passed
	return now
}

func (m *machine) since(from, to time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read[to] - m.read[from]
}

func TestTimesGoOnWhenTheClockIsSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, c := range []struct {
		name string
		set  []time.Duration // how far it is set before each record, which comes a second after the one before
		want []time.Duration // time of each record without those that say so, from the first
		says []string
	}{
		{"not at all", []time.Duration{0, 0, 0}, []time.Duration{0, time.Second, 2 * time.Second}, nil},
		{"a year forward, and back", []time.Duration{0, year, -year, 0, 0},
			[]time.Duration{0, year + time.Second, year + 2*time.Second, year + 3*time.Second, year + 4*time.Second},
			[]string{"the clock went forward by 8760h0m0s, or the machine slept", "the clock went back by 8760h0m0s; times on this trail are ahead of it by 8760h0m0s"}},
		{"back, and forward again", []time.Duration{0, -time.Hour, 0, time.Hour, 0},
			[]time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second},
			[]string{"the clock went back by 1h0m0s; times on this trail are ahead of it by 1h0m0s", "the clock went forward by 1h0m0s, or the machine slept"}},
		{"back and further forward", []time.Duration{0, -time.Minute, 3 * time.Minute},
			[]time.Duration{0, time.Second, 2*time.Minute + 2*time.Second},
			[]string{"ahead of it by 1m0s", "the clock went forward by 3m0s, or the machine slept"}},
		{"a little", []time.Duration{0, 300 * time.Millisecond, -500 * time.Millisecond},
			[]time.Duration{0, 1300 * time.Millisecond, 1800 * time.Millisecond}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine()
			trail := create(t, Options{Clock: m.clock, since: m.since})
			for _, by := range c.set {
				m.after(time.Second, by)
				appendAll(t, trail, Record{Event: CommandStart})
			}
			var got []time.Duration
			var says []string
			for _, r := range readBack(t, trail) {
				if r.Event == ClockChanged {
					says = append(says, r.Why)
					continue
				}
				got = append(got, r.Time.Sub(m.start.Add(time.Second)))
			}
			if len(got) != len(c.want) || len(says) != len(c.says) {
				t.Fatalf("%v, %q", got, says)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("record %d comes after %v, want %v", i, got[i], c.want[i])
				}
			}
			for i := range says {
				if !strings.Contains(says[i], c.says[i]) {
					t.Errorf("%q, want %q", says[i], c.says[i])
				}
			}
			if got := trail.Signed().Steps; got != uint64(len(c.says)) {
				t.Errorf("counted %d times", got)
			}
			if err := trail.Close(); err != nil {
				t.Fatal(err)
			}
			if report, err := Verify(trail.Path(), VerifyOptions{}); err != nil || report.Status() != OK {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
}

// TestManySmallStepsBackFreezeNothing: each is too small for a record, and together
// they are an hour.
func TestManySmallStepsBackFreezeNothing(t *testing.T) {
	m := newMachine()
	trail := create(t, Options{Clock: m.clock, since: m.since})
	for range 4000 {
		m.after(10*time.Millisecond, -900*time.Millisecond)
		appendAll(t, trail, Record{Event: CommandStart})
	}
	all := readBack(t, trail)
	first, last := all[0].Time, all[len(all)-1].Time
	if passed := last.Sub(first); (passed - 40*time.Second).Abs() > 2*time.Second {
		t.Errorf("in 40 s, times went on by %v", passed)
	}
	for i, r := range all[1:] {
		if r.Time.Before(all[i].Time) || r.Time.Sub(all[i].Time) > time.Second+10*time.Millisecond {
			t.Fatalf("%v follows %v", r.Time, all[i].Time)
		}
	}
}

// TestTheMachinesClockIsCounted: with no clock given, what passes is taken from the
// machine, which counts it whatever its clock is set to.
func TestTheMachinesClockIsCounted(t *testing.T) {
	trail := create(t, Options{})
	now := time.Now()
	later := now.Add(time.Hour)
	if trail.clock.since == nil || trail.clock.since(now, later) != time.Hour {
		t.Error("nothing counts the time")
	}
	if c := (clock{raw: now, since: elapsed}); c.jump(now.Add(time.Second)) != 0 || c.jump(now.Round(0).Add(2*time.Second)) != 0 {
		t.Error("time that passed is taken for a jump")
	}
	if _, err := os.Stat(filepath.Join(trail.Path(), FirstSegment)); err != nil {
		t.Error(err)
	}
}
