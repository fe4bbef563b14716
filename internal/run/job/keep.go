package job

import (
	"slices"
	"time"

	"tipstaff"
)

// Bounds of the commands that have ended and are still known.
const (
	maxEnded = 1024
	endedTTL = time.Hour
	// maxListed is how many ended commands a session tells of.
	maxListed = 20
)

// keep adds an ended command, and forgets those that are too old or too many. The
// caller holds the lock.
func (st *Store) keep(j *Job) {
	st.ended = append(st.ended, j)
	st.forget(time.Now())
}

// forget forgets what has ended too long ago. The caller holds the lock.
func (st *Store) forget(now time.Time) {
	n := 0
	for n < len(st.ended) && (len(st.ended)-n > maxEnded || now.Sub(st.ended[n].endedAt) > endedTTL) {
		delete(st.jobs, st.ended[n].id)
		n++
	}
	if n == 0 {
		return
	}
	clear(st.ended[:n])
	if st.ended = st.ended[n:]; len(st.ended) == 0 {
		st.ended = nil
	}
}

// List returns the commands of a session of the owner that run, and after them
// the last ones that have ended, the latest first.
func (st *Store) List(o Owner, s tipstaff.SessionID) []Status {
	st.mu.Lock()
	var running, over []*Job
	for j := range st.running {
		if j.owner == o && j.session == s && j.id != "" {
			running = append(running, j)
		}
	}
	for i := len(st.ended) - 1; i >= 0 && len(over) < maxListed; i-- {
		if j := st.ended[i]; j.owner == o && j.session == s {
			over = append(over, j)
		}
	}
	st.mu.Unlock()
	out := make([]Status, 0, len(running)+len(over))
	for _, j := range running {
		out = append(out, j.Status())
	}
	slices.SortFunc(out, func(a, b Status) int { return b.Started.Compare(a.Started) })
	for _, j := range over {
		out = append(out, j.Status())
	}
	return out
}
