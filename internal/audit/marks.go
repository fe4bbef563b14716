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

// Checkpoints need not be on the disk at once: they are synced when the last sync
// is so long ago. With checkpointInterval and the time that a sync takes this is
// less than mostBare.
const markSyncInterval = 5 * time.Second

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

	number int       // of the next one
	synced time.Time // when all of them were on the disk
	dirty  bool      // some may not be
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
	if p.size >= m.last.size { // else a file has become full since, and its end is signed
		fresh := p.size - m.last.size
		due := fresh >= checkpointRecords || fresh > 0 && t.opts.Clock().Sub(m.when) >= checkpointInterval
		if due || end != "" {
			if err := t.writeMark(p, end); err != nil {
				return err
			}
		}
	}
	if t.opts.Clock().Sub(m.synced) < markSyncInterval {
		return nil
	}
	return t.syncMarks()
}

// writeMark signs a point and appends it to the file of checkpoints.
func (t *Trail) writeMark(p point, end string, before ...predecessor) error {
	m := &t.marks
	if m.torn {
		if err := m.file.Truncate(m.good); err != nil {
			return err
		}
		m.torn = false
	}
	now := t.opts.Clock()
	c := Checkpoint{Trail: t.name(), Size: p.size, Root: p.root, Time: now, End: end, number: m.number, marked: true, before: before}
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
	m.number, m.dirty = m.number+1, true
	t.signed.Store(&Signed{Records: p.size, Time: now})
	if t.opts.OnCheckpoint != nil {
		t.opts.OnCheckpoint(c.Trail, signed)
	}
	if end != "" {
		return t.syncMarks()
	}
	return nil
}

// syncMarks makes the checkpoints durable, so that a failure of the machine cannot
// take more of them than a verifier lets pass. The caller holds t.keeping.
func (t *Trail) syncMarks() error {
	m := &t.marks
	if !m.dirty {
		return nil
	}
	if err := t.reach(m.file.Sync); err != nil {
		return err
	}
	m.dirty, m.synced = false, t.opts.Clock()
	return nil
}
