package job

import (
	"sync"
	"time"

	"tipstaff/internal/proc"
	"tipstaff/internal/run"
)

// Load is what a command uses, as it was measured.
type Load struct {
	proc.Load
	Share float64 // of one processor, since the last measurement; first since the start
}

// meter measures a command at most once a second, however many people look.
type meter struct {
	mu    sync.Mutex
	taken time.Time
	last  Load
	known bool
}

// Load returns what the command uses; false if it does not run, if that cannot be found
// out, or if it was never measured. With fresh the value is at most a second old, which
// costs some microseconds for each process; otherwise it is the last one that was
// measured.
func (j *Job) Load(fresh bool) (Load, bool) {
	j.mu.Lock()
	c, begun := j.controls, j.ran
	j.mu.Unlock()
	if c == nil {
		return Load{}, false
	}
	return j.meter.read(c, begun, fresh)
}

// read measures at most once in [lookEvery], however many people look: the share of a
// processor needs a time over which it is taken.
func (m *meter) read(c run.Controls, begun time.Time, fresh bool) (Load, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if !fresh || m.known && now.Sub(m.taken) < lookEvery {
		return m.last, m.known
	}
	load, err := c.Load()
	if err != nil {
		return Load{}, false
	}
	since, before := m.taken, m.last.CPU
	if !m.known {
		since, before = begun, 0
	}
	m.last, m.taken, m.known = Load{Load: load}, now, true
	if d := now.Sub(since); d > 0 && load.CPU > before {
		m.last.Share = float64(load.CPU-before) / float64(d)
	}
	return m.last, true
}
