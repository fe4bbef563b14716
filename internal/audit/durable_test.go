package audit

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestStrictHasTheStartOfACommandOnTheDiskFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{room: -1}
		trail := create(t, Options{open: onlySegments(f), Durability: Strict})
		for range 3 {
			appendAll(t, trail, Record{Event: CommandStart})
			if f.synced != len(f.b) {
				t.Errorf("%d bytes of %d are on the disk", f.synced, len(f.b))
			}
			appendAll(t, trail, Record{Event: CommandEnd, Result: &Result{}})
			if f.synced == len(f.b) {
				t.Error("the end was waited for")
			}
		}
		f.set(func() { f.noSync = errors.New("no") })
		if err := trail.Append(Record{Event: CommandStart}); err == nil {
			t.Error("a start was acknowledged that is not on the disk")
		}
		f.set(func() { f.noSync = nil })
		time.Sleep(time.Second)
		synctest.Wait()
		appendAll(t, trail, Record{Event: CommandStart})
	})
}

// slow is a file that takes a while to sync.
type slow struct {
	*faulty
	syncs int
}

func (s *slow) Sync() error {
	time.Sleep(time.Millisecond)
	s.set(func() { s.syncs++ })
	return s.faulty.Sync()
}

func TestOneSyncServesAllWhoWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{faulty: &faulty{room: -1}}
		trail := create(t, Options{open: onlySegments(f), Durability: Strict})
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if err := trail.Append(Record{Event: CommandStart}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if f.syncs > 3 { // the first one, those who came meanwhile, and the interval's
			t.Errorf("%d syncs for 16 commands", f.syncs)
		}
	})
}

func TestATrailGoesOnInTheFileThatItHas(t *testing.T) {
	refuse := true
	o := Options{SegmentBytes: 1, open: func(path string) (file, error) {
		if refuse && filepath.Base(path) == segmentFile(2) {
			return nil, errors.New("no")
		}
		return openFile(path)
	}}
	trail := create(t, o)
	appendAll(t, trail, Record{Event: CommandStart}, Record{Event: CommandStart})
	refuse = false
	appendAll(t, trail, Record{Event: CommandStart}, Record{Event: CommandStart})
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(trail.Path(), VerifyOptions{})
	if err != nil || report.Status() != OK || report.Trails[0].Signed != 4 {
		t.Errorf("%+v, %v", report, err)
	}
	for n, mode := range map[int]os.FileMode{1: 0o400, 2: 0o400, 3: 0o600} {
		if st, err := os.Stat(filepath.Join(trail.Path(), segmentFile(n))); err != nil || st.Mode().Perm() != mode {
			t.Errorf("file %d: %v, %v", n, st, err)
		}
	}
}
