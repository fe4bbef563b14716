package audit

import (
	"io"
	"time"
)

// A checkpoint is due after this many records, and after this time.
const (
	checkpointRecords  = 100
	checkpointInterval = 10 * time.Second
)

// point is a state of the trail that can be signed.
type point struct {
	size uint64
	root [32]byte
}

// point returns the present state. The caller holds t.mu.
func (t *Trail) point() point { return point{t.seq, t.tree.root()} }

// marks is the file of checkpoints.
type marks struct {
	file file
	good int64 // end of the last checkpoint
	torn bool  // the file may contain bytes beyond good
	last point // state that the last one covers
	when time.Time
}

// mark writes the checkpoints that are due: one for the end of each full file,
// and one for p if end says that the trail ends with it, or if it is time. The
// caller holds t.keeping.
func (t *Trail) mark(p point, end string) error {
	t.mu.Lock()
	seals := t.seals
	t.mu.Unlock()
	for _, s := range seals {
		if err := t.writeMark(s, sealed); err != nil {
			return err
		}
		t.mu.Lock()
		t.seals = t.seals[1:]
		t.mu.Unlock()
	}
	m := &t.marks
	if p.size < m.last.size {
		return nil // a file has become full since, and its end is signed
	}
	fresh := p.size - m.last.size
	due := fresh >= checkpointRecords || fresh > 0 && t.opts.Clock().Sub(m.when) >= checkpointInterval
	if !due && end == "" {
		return nil
	}
	return t.writeMark(p, end)
}

// writeMark signs a point and appends it to the file of checkpoints.
func (t *Trail) writeMark(p point, end string) error {
	m := &t.marks
	if m.torn {
		if err := m.file.Truncate(m.good); err != nil {
			return err
		}
		m.torn = false
	}
	now := t.opts.Clock()
	c := Checkpoint{Trail: t.name(), Size: p.size, Root: p.root, Time: now, End: end}
	signed, err := c.sign(t.key.signer)
	if err != nil {
		return err
	}
	n, err := m.file.Write(append(signed[:len(signed):len(signed)], '\n'))
	if err == nil && n <= len(signed) {
		err = io.ErrShortWrite
	}
	if err != nil {
		m.torn = true
		return err
	}
	m.good, m.last, m.when = m.good+int64(n), p, now
	if t.opts.OnCheckpoint != nil {
		t.opts.OnCheckpoint(c.Trail, signed)
	}
	if end != "" {
		return t.reach(m.file.Sync)
	}
	return nil
}
