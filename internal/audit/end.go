package audit

import (
	"errors"
	"fmt"
	"time"
)

// The end of a trail is signed, or the trail is open: that of a server that runs,
// or that was killed. So that a verifier need not take the one for the other,
//
//   - the last record of a server comes behind a checkpoint with "end closing", and
//     nothing else does: a server that dies between its last record and the
//     checkpoint that closes the trail leaves that, and nothing but that;
//   - no record comes behind a checkpoint with "end closed";
//   - no record is further in time than mostBare from the first one that no
//     checkpoint on the disk covers. What is cut off a trail together with its
//     checkpoints can be replaced by as much, and no more.

const (
	// mostBare is how long the trail takes records while one has no checkpoint on the
	// disk.
	mostBare = 25 * time.Second
	// mostBareSeen is what a verifier lets pass.
	mostBareSeen = 30 * time.Second
	// bareWait is how long a record waits for the checkpoint that is due before it.
	bareWait = 5 * time.Second
)

// ErrEnding is returned by Append for a record behind the last one.
var ErrEnding = errors.New("the server has written its last record, or is about to")

// beginEnd signs what there is before the last record is written.
func (t *Trail) beginEnd() error {
	t.mu.Lock()
	t.ending = true
	ended, over := t.ended, t.closed
	t.mu.Unlock()
	switch {
	case over:
		return ErrClosed
	case ended:
		return ErrEnding
	}
	if err := t.keep(closing); err != nil {
		return fmt.Errorf("what came before the last record cannot be signed: %w", err)
	}
	return nil
}

// overdue reports whether a record must not be written, when the clock says raw,
// before a checkpoint is on the disk. The caller holds t.mu.
func (t *Trail) overdue(raw time.Time) bool {
	return !t.bare.IsZero() && !t.closed && t.clock.read(raw, t.last).at.Sub(t.bare) > mostBare
}

// late is the writing of a checkpoint that is overdue.
type late struct {
	done chan struct{}
	err  error // when it is done
}

// catchUp writes the checkpoint that is overdue, and makes it durable: one for all
// records that wait for it. It waits for a disk that hangs, but not for long.
func (t *Trail) catchUp() error {
	t.mu.Lock()
	l := t.late
	if l == nil {
		l = &late{done: make(chan struct{})}
		t.late = l
		go func() {
			l.err = t.keepNow()
			t.mu.Lock()
			t.late = nil
			t.mu.Unlock()
			close(l.done)
		}()
	}
	t.mu.Unlock()
	patience := time.NewTimer(bareWait)
	defer patience.Stop()
	select {
	case <-l.done:
		if l.err != nil {
			return fmt.Errorf("a checkpoint is overdue: %w", l.err)
		}
		return nil
	case <-patience.C:
		return errors.New("a checkpoint is overdue, and the disk does not take it")
	}
}

// awaitLate waits until no checkpoint is overdue any more. The trail is closed.
func (t *Trail) awaitLate() {
	t.mu.Lock()
	l := t.late
	t.mu.Unlock()
	if l != nil {
		<-l.done
	}
}

// keepNow is keep with a checkpoint that is due, on the disk.
func (t *Trail) keepNow() error {
	t.keeping.Lock()
	t.marks.when, t.marks.synced = time.Time{}, time.Time{}
	t.keeping.Unlock()
	return t.keep("")
}

// turn is a lock that may be waited for as long as a disk hangs, with a limit.
type turn chan struct{}

func (c turn) Lock()   { c <- struct{}{} }
func (c turn) Unlock() { <-c }

// covered notes that checkpoints on the disk cover p, whose last record was written
// at the given time. The caller holds t.mu.
func (t *Trail) covered(p point, at time.Time) {
	t.bare = time.Time{}
	if t.seq > p.size {
		t.bare = at // what came after is not older
	}
}
