//go:build linux && !race

package escape

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tipstaff/e2e/kit"
)

// TestEscapeE10ACommandLocksTheServerOutOfItsState: Landlock does not control
// chmod, and commands run as the server's user. The modes are restored when the
// command ends, so that the record can go on.
func TestEscapeE10ACommandLocksTheServerOutOfItsState(t *testing.T) {
	t.Parallel()
	everywhere(t, habitat{env: []string{"TIPSTAFF_AUDIT_DURABILITY=strict"}}, func(t *testing.T, w *world) {
		s := w.On(t)
		trails, err := filepath.Glob(filepath.Join(w.State, "audit", "2*"))
		if err != nil || len(trails) != 1 {
			t.Fatalf("the trails are %q, %v", trails, err)
		}
		dirs := []string{w.State, filepath.Join(w.State, "audit"), trails[0], filepath.Join(w.State, "control"), w.path("home")}
		for _, dir := range dirs {
			before := modeAt(t, dir)
			done := s.Process("chmod", []string{"0", dir}).YAML().ExitCode == 0
			after := modeAt(t, dir)
			switch w.tier {
			case kit.None:
				if !done {
					t.Fatalf("the control: chmod of %s failed, and left %v", dir, after)
				}
				if after != 0 { // the server has set it back by now, and says so
					w.Says("was set back")
				}
				if err := os.Chmod(dir, before); err != nil { // for the next step
					t.Fatal(err)
				}
				continue
			case kit.Namespaces:
				if done {
					t.Errorf("chmod of %s succeeded", dir)
				}
			case kit.Landlock:
				if !done {
					t.Errorf("chmod of %s is refused: this test shows nothing", dir)
				}
			}
			if after != before && slices.Index(dirs, dir) < 4 {
				t.Errorf("%s has the mode %v, had %v", dir, after, before)
			}
			for range 3 {
				if got := s.Command("echo on"); got.Ran().Stdout != "on\n" {
					t.Errorf("after a chmod of %s the answer is %s", dir, got.Text)
				}
			}
			if w.tier == kit.Landlock && slices.Index(dirs, dir) < 4 {
				w.Says("was set back")
			}
		}
		if records := w.Records(); w.tier != kit.None && len(records) < len(dirs)*8 {
			t.Errorf("there are %d records", len(records))
		}
	})
}

func modeAt(t *testing.T, path string) os.FileMode {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode().Perm()
}
