package audit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const fullDiskEnv = "TIPSTAFF_TEST_FULL_DISK"

// TestAFullDiskHeals runs itself again in mount and PID namespaces of its own,
// with a small file system to fill.
func TestAFullDiskHeals(t *testing.T) { onSmallDisk(t, "64k", fillAndHeal) }

// onSmallDisk runs a test on a small file system.
func onSmallDisk(t *testing.T, size string, test func(t *testing.T, dir string)) {
	t.Helper()
	if dir := os.Getenv(fullDiskEnv); dir != "" {
		test(t, dir)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small file system")
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(unshare, "-m", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs -o "size=$3" tmpfs "$1" || exit 77; exec "$2" -test.run "^$4\$"`, "sh", dir, os.Args[0], size, t.Name())
	cmd.Env = append(os.Environ(), fullDiskEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code == 77 || code == 1 && len(out) > 0 && out[0] == 'u' {
		t.Skipf("no small file system can be mounted here: %s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

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
