//go:build linux && !race

package contain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// TestARootWhomOthersShutOut: root's commands run as root without capabilities,
// so file modes apply to them. Files that other users have closed must neither
// make the tier unavailable nor be opened, and those that they have left open
// stay hidden where they are secret.
func TestARootWhomOthersShutOut(t *testing.T) {
	disposable(t)
	if !kit.MachinesRoot() {
		t.Skip("only the machine's root meets files that are closed to it")
	}
	const another, key = 1001, "a key\n"
	for name, c := range map[string]struct {
		home os.FileMode // of the other user
		own  bool        // it is also the server's own home, as after sudo
	}{
		"the home of another user, closed":                {0o750, false},
		"the home of another user, open":                  {0o755, false},
		"the home of another user, with caches of theirs": {0o755, true},
	} {
		for _, tier := range []string{kit.Namespaces, kit.Landlock} {
			t.Run(name+", "+tier, func(t *testing.T) {
				theirs, ours := plot(t, homesDir(t)), plot(t, homesDir(t))
				writeFiles(t, theirs, map[string]string{".ssh/id": key, ".cache/pip/file": "x\n"})
				writeFiles(t, ours, map[string]string{"work/file": "x\n"})
				kit.Give(t, another, theirs)
				for path, mode := range map[string]os.FileMode{theirs: c.home, filepath.Join(theirs, ".cache"): 0o700} {
					if err := os.Chmod(path, mode); err != nil {
						t.Fatal(err)
					}
				}
				home := ours
				if c.own {
					home = theirs
				}
				s := serveAs(t, 0, filepath.Join(ours, "work"), append(kit.Sandboxed(tier), "PATH=/usr/bin:/bin", "HOME="+home,
					"TIPSTAFF_STATE_DIR="+filepath.Join(ours, "state"), "ALLOWED_COMMANDS=cat,touch"))
				s.Command("touch made").Ran()
				if r := s.Command("cat " + theirs + "/.ssh/id"); strings.Contains(r.Text, key) || r.YAML().ExitCode == 0 {
					t.Errorf("the key was read: %s", r.Text)
				}
				wantTier(t, s, tier)
			})
		}
	}
}
