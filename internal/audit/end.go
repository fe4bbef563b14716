package audit

import (
	"errors"
	"fmt"
	"time"
)

// A trail without a signed end is that of a server that runs or was killed. These rules
// keep an attacker from making a closed trail look like one:
//
//   - only the last record of a server follows a checkpoint with "end closing". A server
//     that dies before it writes the checkpoint that closes the trail leaves exactly
//     that;
//   - no record follows a checkpoint with "end closed";
//   - no record is later than maxUncovered after the first record that no checkpoint on
//     the disk covers. So an attacker who cuts off records together with their
//     checkpoints can replace them by at most so much time of forged ones.

const (
	// maxUncovered is how long the trail accepts records while one is not covered by a
	// checkpoint on the disk.
	maxUncovered = 25 * time.Second
	// maxUncoveredSeen is the longest such time that a verifier accepts.
	maxUncoveredSeen = 30 * time.Second
	// checkpointWait is how long a record waits for the checkpoint that is due before it.
	checkpointWait = 5 * time.Second
)

// ErrEnding is returned by Append for a record behind the last one.
var ErrEnding = errors.New("the server has written its last record, or is about to")

// beginEnd signs a checkpoint with "end closing" before the last record is written, and
// refuses other records from then on. So a verifier knows that only that record may
// follow.
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

// overdue reports whether a checkpoint must be on the disk before a record may be
// written when the clock says raw. Without this limit, an attacker could cut off a
// trail together with its checkpoints and continue it for as long as he likes. The
// caller holds t.mu.
func (t *Trail) overdue(raw time.Time) bool {
	return !t.uncovered.IsZero() && !t.closed && t.clock.read(raw, t.last).at.Sub(t.uncovered) > maxUncovered
}

// checkpointWrite is the writing of a checkpoint that is overdue.
type checkpointWrite struct {
	done chan struct{}
	err  error // when it is done
}

// writeOverdue writes the overdue checkpoint and makes it durable, once for all records
// that wait for it. It waits at most checkpointWait for a disk that hangs; then the
// record fails, and its command does not run.
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

// chanMutex is a mutex made of a channel, for a lock that its holder may keep as long as a
// disk hangs.
type chanMutex chan struct{}

// Lock and Unlock are those of [sync.Locker].
func (c chanMutex) Lock()   { c <- struct{}{} }
func (c chanMutex) Unlock() { <-c }

// noteCovered records that checkpoints on the disk cover p, whose last record was
// written at the given time. The caller holds t.mu.
func (t *Trail) noteCovered(p treeHead, at time.Time) {
	t.uncovered = time.Time{}
	if t.seq > p.size {
		t.uncovered = at // what came after is not older
	}
}
