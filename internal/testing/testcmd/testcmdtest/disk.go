package testcmdtest

import (
	"os"
	"os/exec"
	"testing"
)

// smallDisk holds the directory of the small file system, in the process that has one.
const smallDisk = "TIPSTAFF_TEST_SMALL_DISK"

// OnSmallDisk runs a test again in a mount namespace of its own, and calls f there
// with the directory of a small file system. size is written as mount takes it.
func OnSmallDisk(t *testing.T, size string, f func(t *testing.T, dir string)) {
	t.Helper()
	if dir := os.Getenv(smallDisk); dir != "" {
		f(t, dir)
		return
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Getuid() != 0 {
		t.Skip("only root may mount a small file system")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), unshare, "-m", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs -o "size=$3" tmpfs "$1" || exit 77; exec "$2" -test.run "^$4\$"`, "sh", dir, os.Args[0], size, t.Name())
	cmd.Env = append(os.Environ(), smallDisk+"="+dir)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code == 77 || code == 1 && len(out) > 0 && out[0] == 'u' {
		t.Skipf("no small file system can be mounted here: %s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
