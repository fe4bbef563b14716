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

// Load returns what the command uses; false if that cannot be told, was never looked
// at, or it does not run. With fresh it is as it was at most a second ago, which costs
// some microseconds for each process; else what was measured last.
func (j *Job) Load(fresh bool) (Load, bool) {
	j.mu.Lock()
	c, begun := j.controls, j.ran
	j.mu.Unlock()
	if c == nil {
		return Load{}, false
	}
	return j.meter.read(c, begun, fresh)
}

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
