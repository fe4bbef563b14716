//go:build linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tipstaff/e2e/kit"
)

// TestAMachineWithoutAName: config check passed what serve refused, because no setting
// gives the name under which the trails are copied, and the machine has none.
func TestAMachineWithoutAName(t *testing.T) {
	if !kit.MachinesRoot() {
		t.Skip("only root can take the machine's name away, for one process")
	}
	dir := t.TempDir()
	run := func(more []string, args ...string) (string, int) {
		cmd := exec.Command(kit.Path(t), args...)
		cmd.Dir, cmd.Env = dir, append([]string{"PATH=/usr/bin:/bin", "HOME=" + dir, "ALLOWED_COMMANDS=ls", "TIPSTAFF_STATE_DIR=" + filepath.Join(dir, "state")}, more...)
		done := make(chan []byte)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends, and its name with it
			if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
				t.Error(err)
			}
			if err := unix.Sethostname(nil); err != nil {
				t.Error(err)
			}
			out, _ := cmd.CombinedOutput() // the code says it
			done <- out
		}()
		return string(<-done), cmd.ProcessState.ExitCode()
	}
	copied := []string{"TIPSTAFF_ENGINE=nats://127.0.0.1:1", "TIPSTAFF_ENGINE_ROLES=none"}
	for _, args := range [][]string{{"config", "check"}, {"serve"}, {"doctor"}} {
		out, code := run(copied, args...)
		if code != 3 || !strings.Contains(out, "cannot tell under which name the trails of this machine are copied") || !strings.Contains(out, "Set TIPSTAFF_RUNNER_NAME") || strings.Contains(out, "✔ the environment") {
			t.Errorf("tipstaff %s: %d\n%s", args[0], code, out)
		}
	}
	for _, more := range [][]string{nil, append(copied, "TIPSTAFF_RUNNER_NAME=box")} { // the controls
		for _, args := range [][]string{{"config", "check"}, {"serve"}} {
			if out, code := run(more, args...); code != 0 {
				t.Errorf("%q, tipstaff %s: %d\n%s", more, args[0], code, out)
			}
		}
	}
}
