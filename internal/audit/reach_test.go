package audit

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

var locked = &fs.PathError{Op: "lstat", Path: "trail", Err: syscall.EACCES}

// TestATrailThatTheServerIsLockedOutOfIsMended: a command of the same user may have
// changed the mode of its directory.
func TestATrailThatTheServerIsLockedOutOfIsMended(t *testing.T) {
	f := &faulty{room: -1}
	mended := 0
	trail := create(t, Options{open: onlySegments(f), Durability: Strict, Mend: func() error {
		mended++
		f.set(func() { f.noSync = nil })
		return nil
	}})
	f.set(func() { f.noSync = locked })
	if err := trail.Append(Record{Event: CommandStart}); err != nil || mended != 1 {
		t.Errorf("mended %d times, %v", mended, err)
	}
	f.sound(t, 1)
}

func TestWhatCannotBeMendedIsRefusedWithItsReason(t *testing.T) {
	f := &faulty{room: -1}
	trail := create(t, Options{open: onlySegments(f), Durability: Strict, Mend: func() error {
		return errors.New("the directory /state/audit has the mode 0000")
	}})
	f.set(func() { f.noSync = locked })
	if err := trail.Append(Record{Event: CommandStart}); err == nil || !strings.Contains(err.Error(), "/state/audit has the mode 0000") {
		t.Errorf("the error is %v", err)
	}
	f.set(func() { f.noSync = nil }) // Close syncs
}

// TestAFileThatMayNotBeMadeStopsTheRecord: without permission there is no next file,
// and the trail does not go on in the old one for ever.
func TestAFileThatMayNotBeMadeStopsTheRecord(t *testing.T) {
	for _, c := range []struct {
		says   string
		fault  error
		mends  bool
		refuse bool
	}{
		{"locked out", locked, false, true},
		{"locked out for a moment", locked, true, false},
		{"no room", &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC}, false, false},
	} {
		fault := c.fault
		var names []string
		trail := create(t, Options{SegmentBytes: 1, Mend: func() error {
			if c.mends {
				fault = nil
			}
			return nil
		}, open: func(path string) (file, error) {
			if name := filepath.Base(path); name != checkpointsFile && name != FirstSegment {
				if fault != nil {
					return nil, fault
				}
				names = append(names, name)
			}
			return openFile(path)
		}})
		if err := trail.Append(Record{Event: SessionCreate}); err != nil {
			t.Fatal(err)
		}
		err := trail.Append(Record{Event: SessionCreate})
		if refused := err != nil; refused != c.refuse || c.mends != (len(names) == 1) {
			t.Errorf("%s: %v, files %q", c.says, err, names)
		}
	}
}

// TestTheErrorNamesTheDirectoryAndItsMode, where the machine tells them.
func TestTheErrorNamesTheDirectoryAndItsMode(t *testing.T) {
	dir := t.TempDir()
	err := unreachable(filepath.Join(dir, "000001.jsonl"), locked)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir+" has the mode 0") {
		t.Errorf("the error is %v", err)
	}
	if err := unreachable("x", errGone); !errors.Is(err, errGone) {
		t.Errorf("another error becomes %v", err)
	}
}
