package audit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// faulty is a file in memory that fails as it is told.
type faulty struct {
	mu         sync.Mutex
	b          []byte
	room       int   // bytes that still fit; negative: no bound
	silent     bool  // a write that does not fit reports no error
	noTruncate error // what Truncate fails with
	noSync     error // what Sync fails with
	syncs      []time.Time
	synced     int // bytes that were there at the last good sync
	closed     bool
}

func (f *faulty) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room < 0 || len(p) <= f.room {
		f.b = append(f.b, p...)
		if f.room >= 0 {
			f.room -= len(p)
		}
		return len(p), nil
	}
	n := f.room
	f.b, f.room = append(f.b, p[:n]...), 0
	if f.silent {
		return n, nil
	}
	return n, &fs.PathError{Op: "write", Path: "trail", Err: syscall.ENOSPC}
}

func (f *faulty) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.noTruncate != nil {
		return f.noTruncate
	}
	f.b = f.b[:size]
	return nil
}

func (f *faulty) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncs = append(f.syncs, time.Now())
	if f.noSync == nil {
		f.synced = len(f.b)
	}
	return f.noSync
}

func (f *faulty) Close() error { f.closed = true; return nil }

func (f *faulty) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// onFaulty makes a trail on f.
func onFaulty(t testing.TB, f *faulty) *Trail {
	return create(t, Options{open: onlySegments(f)})
}

// onlySegments puts a file in the place of the records, and not of the checkpoints.
func onlySegments(f file) func(path string) (file, error) {
	return func(path string) (file, error) {
		if filepath.Base(path) == checkpointsFile {
			return openFile(path)
		}
		return f, nil
	}
}

// sound fails the test unless f holds exactly n records in an unbroken chain.
func (f *faulty) sound(t *testing.T, n uint64) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	path := filepath.Join(t.TempDir(), FirstSegment)
	if err := os.WriteFile(path, f.b, 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(path, VerifyOptions{})
	if err != nil || report.Status() != OK || report.Trails[0].Records != n {
		t.Fatalf("%d records are wanted: %+v %v, %v", n, report, report.Trails[0].Fault, err)
	}
}

func TestADiskThatFillsUpAnywhereInALineLosesNothing(t *testing.T) {
	whole := &faulty{room: -1}
	appendAll(t, onFaulty(t, whole), Record{Event: CommandStart})
	for _, silent := range []bool{false, true} {
		for room := 0; room < len(whole.b); room++ {
			f := &faulty{room: -1, silent: silent}
			trail := onFaulty(t, f)
			appendAll(t, trail, Record{Event: CommandStart})
			f.set(func() { f.room = room })
			for range 2 {
				if err := trail.Append(Record{Event: CommandStart}); err == nil {
					t.Fatalf("with room for %d bytes a record was acknowledged", room)
				}
				f.sound(t, 1)
			}
			f.set(func() { f.room = -1 })
			appendAll(t, trail, Record{Event: CommandStart})
			f.sound(t, 2)
		}
	}
}

func TestAFullDiskIsNamedInTheError(t *testing.T) {
	trail := onFaulty(t, &faulty{room: 10})
	if err := trail.Append(Record{Event: CommandStart}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("err = %v", err)
	}
}

func TestATornLineThatCannotBeRemovedStopsTheTrailUntilItCan(t *testing.T) {
	f := &faulty{room: -1}
	trail := onFaulty(t, f)
	appendAll(t, trail, Record{Event: CommandStart})
	f.set(func() { f.room, f.noTruncate = 10, syscall.EIO })
	for range 3 {
		if err := trail.Append(Record{Event: CommandStart}); err == nil {
			t.Fatal("a record was acknowledged behind a torn line")
		}
		f.set(func() { f.room = -1 })
	}
	f.set(func() { f.noTruncate = nil })
	appendAll(t, trail, Record{Event: CommandStart})
	f.sound(t, 2)
}

func TestCloseRemovesATornLine(t *testing.T) {
	f := &faulty{room: 10, noTruncate: syscall.EIO}
	trail := onFaulty(t, f)
	_ = trail.Append(Record{Event: CommandStart})
	f.set(func() { f.noTruncate = nil })
	if err := trail.Close(); err != nil || !f.closed {
		t.Fatal(err)
	}
	f.sound(t, 0)
}

func TestRecordsAreOnTheDiskWithin100Milliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{room: -1}
		trail := onFaulty(t, f)
		time.Sleep(time.Second)
		if len(f.syncs) != 0 {
			t.Errorf("%d syncs of nothing", len(f.syncs))
		}
		for range 100 {
			appendAll(t, trail, Record{Event: CommandStart})
			time.Sleep(time.Millisecond)
		}
		appendAll(t, trail, Record{Event: CommandStart})
		written := time.Now()
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		f.set(func() {
			if f.synced != len(f.b) || f.syncs[len(f.syncs)-1].Sub(written) > 100*time.Millisecond {
				t.Errorf("%d of %d bytes are synced", f.synced, len(f.b))
			}
			if len(f.syncs) > 4 {
				t.Errorf("%d syncs in 200 ms", len(f.syncs))
			}
		})
		trail.Close()
	})
}

func TestADiskThatDoesNotTakeRecordsStopsTheTrailUntilItDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{room: -1, noSync: syscall.EIO}
		trail := onFaulty(t, f)
		appendAll(t, trail, Record{Event: CommandStart})
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if err := trail.Append(Record{Event: CommandStart}); !errors.Is(err, syscall.EIO) {
			t.Errorf("after a failed sync: err = %v", err)
		}
		f.set(func() { f.noSync = nil })
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		appendAll(t, trail, Record{Event: CommandStart})
		if err := trail.Close(); err != nil {
			t.Error(err)
		}
		f.sound(t, 2)
	})
}

func TestCloseSyncsAndSaysWhenItCannot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad := &faulty{room: -1}, &faulty{room: -1, noSync: syscall.EIO}
		trail := onFaulty(t, good)
		appendAll(t, trail, Record{Event: ServerStop})
		if err := trail.Close(); err != nil || good.synced != len(good.b) || !good.closed {
			t.Errorf("err = %v, synced %d of %d", err, good.synced, len(good.b))
		}
		if err := onFaulty(t, bad).Close(); !errors.Is(err, syscall.EIO) || !bad.closed {
			t.Errorf("err = %v", err)
		}
	})
}

func TestATrailThatWasRemovedIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trail := create(t, Options{})
		appendAll(t, trail, Record{Event: CommandStart})
		if err := os.RemoveAll(trail.Path()); err != nil {
			t.Fatal(err)
		}
		appendAll(t, trail, Record{Event: CommandStart})
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if err := trail.Append(Record{Event: CommandStart}); !errors.Is(err, errGone) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestATrailThatCannotBeMadeIsAnError(t *testing.T) {
	inTheWay := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(inTheWay, Options{}); err == nil {
		t.Error("a trail was made in a file")
	}
}
