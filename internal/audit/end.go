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
//   - no record is further in time than maxUncovered from the first one that no
//     checkpoint on the disk covers. What is cut off a trail together with its
//     checkpoints can be replaced by as much, and no more.

const (
	// maxUncovered is how long the trail takes records while one has no checkpoint on the
	// disk.
	maxUncovered = 25 * time.Second
	// maxUncoveredSeen is what a verifier lets pass.
	maxUncoveredSeen = 30 * time.Second
	// checkpointWait is how long a record waits for the checkpoint that is due before it.
	checkpointWait = 5 * time.Second
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
	if err := t.syncAndSign(closing); err != nil {
		return fmt.Errorf("what came before the last record cannot be signed: %w", err)
	}
	return nil
}

// overdue reports whether a record must not be written, when the clock says raw,
// before a checkpoint is on the disk. The caller holds t.mu.
func (t *Trail) overdue(raw time.Time) bool {
	return !t.uncovered.IsZero() && !t.closed && t.clock.read(raw, t.last).at.Sub(t.uncovered) > maxUncovered
}

// checkpointWrite is the writing of a checkpoint that is overdue.
type checkpointWrite struct {
	done chan struct{}
	err  error // when it is done
}

// writeOverdue writes the checkpoint that is overdue, and makes it durable: one for all
// records that wait for it. It waits for a disk that hangs, but not for long.
func (t *Trail) writeOverdue() error {
	t.mu.Lock()
	l := t.overdueWrite
	if l == nil {
		l = &checkpointWrite{done: make(chan struct{})}
		t.overdueWrite = l
		go func() {
			l.err = t.syncAndSignNow()
			t.mu.Lock()
			t.overdueWrite = nil
			t.mu.Unlock()
			close(l.done)
		}()
	}
	t.mu.Unlock()
	patience := time.NewTimer(checkpointWait)
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

// awaitOverdue waits until no checkpoint is overdue any more. The trail is closed.
func (t *Trail) awaitOverdue() {
	t.mu.Lock()
	l := t.overdueWrite
	t.mu.Unlock()
	if l != nil {
		<-l.done
	}
}

// syncAndSignNow is syncAndSign with a checkpoint that is due, on the disk.
func (t *Trail) syncAndSignNow() error {
	t.signing.Lock()
	t.checkpoints.signedAt, t.checkpoints.synced = time.Time{}, time.Time{}
	t.signing.Unlock()
	return t.syncAndSign("")
}

// chanMutex is a lock that may be waited for as long as a disk hangs, with a limit.
type chanMutex chan struct{}

func (c chanMutex) Lock()   { c <- struct{}{} }
func (c chanMutex) Unlock() { <-c }

// noteCovered notes that checkpoints on the disk cover p, whose last record was written
// at the given time. The caller holds t.mu.
func (t *Trail) noteCovered(p treeHead, at time.Time) {
	t.uncovered = time.Time{}
	if t.seq > p.size {
		t.uncovered = at // what came after is not older
	}
}
