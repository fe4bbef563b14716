//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// TestAForkBombTakesNothingFromTheServer runs the server as a user with a low
// limit of processes, and a command that uses up all of them.
func TestAForkBombTakesNothingFromTheServer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run the server as another user")
	}
	if kit.RaceEnabled {
		t.Skip("the race detector needs threads of its own, which the limit would forbid")
	}
	const user, processes = 54321, 160
	base := t.TempDir()
	if err := os.Chmod(filepath.Dir(kit.Path(t)), 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := base; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(base, user, user); err != nil {
		t.Skip("this root is only a user's own: ", err)
	}
	cmd := exec.Command("setpriv", "--reuid", fmt.Sprint(user), "--regid", fmt.Sprint(user), "--clear-groups",
		"prlimit", fmt.Sprintf("--nproc=%d", processes), kit.Path(t), "serve")
	cmd.Dir = base
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + base, "ALLOWED_COMMANDS=sh,echo", "TIPSTAFF_STATE_DIR=" + filepath.Join(base, "state")}
	r := kit.StartRaw(t, cmd)
	r.Initialize()
	const bomb = "i=0; while [ $i -lt 400 ]; do sleep 60 & i=$((i+1)); done; wait"
	m := r.Call(1, "execute_process", kit.Args{"file": "sh", "args": []string{"-c", bomb}, "timeout_ms": 20_000}) // its shell ends at the limit
	if text := m.Text(); !strings.Contains(text, "fork") {
		t.Errorf("the bomb did not reach the limit: nothing is shown\n%s", text)
	}
	for i := range 20 {
		if m := r.Call(10+i, "execute_process", kit.Args{"file": "echo", "args": []string{"still here"}}); !strings.Contains(m.Text(), "still here") {
			t.Fatalf("afterwards: %s", m.Text())
		}
	}
}
