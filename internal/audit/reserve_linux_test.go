package audit

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// TestATrailKeepsAReserveOnAFullDisk: commands start for a while, among them the one
// that makes room, and after that the ends of those that run are still recorded. The
// control is a file beside it, which gets nothing more.
func TestATrailKeepsAReserveOnAFullDisk(t *testing.T) {
	testcmdtest.OnSmallDisk(t, "48m", reserveOnFullDisk)
}

func reserveOnFullDisk(t *testing.T, dir string) {
	trail, err := Create(filepath.Join(dir, "audit"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	start := Record{Event: CommandStart, What: What{Argv: []string{"rm", "large"}}}
	end := Record{Event: CommandEnd, What: What{Argv: []string{"rm", "large"}}}
	if err := trail.Append(start); err != nil {
		t.Fatal(err)
	}
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	fill := func() {
		for _, size := range []int{1 << 20, 1 << 12, 1} {
			for err = nil; err == nil; {
				_, err = filler.Write(make([]byte, size))
			}
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	fill()
	good, starts, ends := 1, 0, 0
	for err = trail.Append(start); err == nil; err = trail.Append(start) {
		starts++
		if starts%100 == 0 {
			fill() // nothing of the reserve can be taken
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || starts < 500 {
		t.Errorf("%d commands started, and then: %v", starts, err)
	}
	for range starts / 5 {
		if err := trail.Append(end); err != nil {
			t.Fatalf("after %d ends: %v", ends, err)
		}
		ends++
	}
	if err := trail.syncAndSign(""); err != nil {
		t.Errorf("a checkpoint: %v", err)
	}
	if err := errors.Join(filler.Close(), os.Remove(filler.Name())); err != nil {
		t.Fatal(err)
	}
	if err := trail.Append(start); err != nil {
		t.Errorf("the disk has room again: %v", err)
	}
	good += starts + ends + 1
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(trail.Path(), VerifyOptions{})
	if err != nil || report.Status() != OK || report.Trails[0].Records != uint64(good) {
		t.Errorf("%d records are wanted: %+v, %v", good, report, err)
	}
	for _, name := range []string{FirstSegment, checkpointsFile} {
		var st syscall.Stat_t
		if err := syscall.Stat(filepath.Join(trail.Path(), name), &st); err != nil || st.Blocks*512 > st.Size+1<<16 {
			t.Errorf("%s has %d bytes and takes %d: %v", name, st.Size, st.Blocks*512, err)
		}
	}
}
