package audit

import (
	"errors"
	"fmt"
	"time"
)

// syncInterval is how long a record waits for the sync that it shares with the
// records around it; with the sync itself it stays under 100 ms on a sound disk.
const syncInterval = 80 * time.Millisecond

// keepSynced syncs the file a moment after something was written, and goes on
// trying when that fails. Close ends it and waits for it.
func (t *Trail) keepSynced() {
	defer close(t.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-t.dirty:
		case <-t.quit:
			return
		}
		timer.Reset(syncInterval)
		select {
		case <-timer.C:
		case <-t.quit:
			return
		}
		if t.sync() != nil {
			select {
			case t.dirty <- struct{}{}:
			default:
			}
		}
	}
}

// sync brings to the disk what was written before it was called. Records may
// be appended meanwhile.
func (t *Trail) sync() error {
	err := t.file.Sync()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsync = err
	return err
}

// Close syncs the trail and closes it. Later calls of Append fail with
// [ErrClosed]; a second Close does nothing.
func (t *Trail) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.mu.Unlock()
	close(t.quit)
	<-t.done
	if err := errors.Join(t.mendLocked(), t.file.Sync(), t.file.Close()); err != nil {
		return fmt.Errorf("cannot close the trail: %w", err)
	}
	return nil
}

func (t *Trail) mendLocked() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mend()
}
