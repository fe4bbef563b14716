package audit

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

func TestAFullDiskHeals(t *testing.T) { testcmdtest.OnSmallDisk(t, "64k", fillAndHeal) }

func fillAndHeal(t *testing.T, dir string) {
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 32<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	trail, err := Create(filepath.Join(dir, "audit"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	r := Record{Event: CommandStart, What: What{Argv: []string{"echo", "some argument"}}}
	var good uint64
	for err == nil {
		if err = trail.Append(r); err == nil {
			good++
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || good == 0 {
		t.Fatalf("after %d records: %v", good, err)
	}
	check := func() {
		t.Helper()
		report, err := Verify(trail.Path(), VerifyOptions{})
		if err != nil || report.Status() != OK || report.Trails[0].Records != good {
			t.Fatalf("%d records are wanted: %+v, %v", good, report, err)
		}
	}
	check()
	if err := trail.Append(r); err == nil {
		t.Fatal("a full disk took a record")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := trail.Append(r); err != nil {
			t.Fatalf("the disk has room again: %v", err)
		}
		good++
	}
	check()
}
