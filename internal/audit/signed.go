package audit

import "time"

// Signed says how far checkpoints cover a trail.
type Signed struct {
	Records uint64    // that the last checkpoint covers
	Time    time.Time // trail that checkpoint
	Written uint64    // records on the trail
	Steps   uint64    // how often the clock was set, as records say
}

// Signed returns how far the trail is signed. It may be called concurrently with
// Append, and does not wait for the disk.
func (t *Trail) Signed() Signed {
	var s Signed
	if last := t.signed.Load(); last != nil {
		s = *last
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Written, s.Steps = t.seq, t.steps
	return s
}

// tooOld reports whether the file of the trail has begun so long ago that the next
// record belongs into another one. The caller holds t.mu.
func (t *Trail) tooOld() bool {
	return t.opts.SegmentAge > 0 && t.good > 0 && t.opts.Clock().Sub(t.began) >= t.opts.SegmentAge
}
