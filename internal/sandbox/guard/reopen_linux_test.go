//go:build linux

package guard

import (
	"os"
	"path/filepath"
	"testing"
)

func TestClosedDirectoriesAreOpenedForTheirOwner(t *testing.T) {
	root := t.TempDir()
	git := filepath.Join(root, "repo", ".git")
	if err := os.MkdirAll(filepath.Join(git, "hooks"), 0o750); err != nil {
		t.Fatal(err)
	}
	modes := func(want map[string]os.FileMode) {
		t.Helper()
		for dir, mode := range want {
			if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != mode {
				t.Errorf("%s: %v %v, want %v", dir, st.Mode(), err, mode)
			}
		}
	}
	if reopen(root, filepath.Join(git, "config")) {
		t.Error("what is open was changed")
	}
	for _, dir := range []string{filepath.Join(git, "hooks"), git, root} {
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
	}
	if !reopen(root, filepath.Join(git, "config")) {
		t.Error("what is closed was not opened")
	}
	modes(map[string]os.FileMode{root: 0o700, filepath.Dir(git): 0o750, git: 0o700, filepath.Join(git, "hooks"): 0})
	if !reopen(root, filepath.Join(git, "hooks")) {
		t.Error("a closed directory of hooks was not opened")
	}
	modes(map[string]os.FileMode{filepath.Join(git, "hooks"): 0o700})
	if outside := filepath.Dir(root); reopen(filepath.Join(outside, "none"), filepath.Join(outside, "none/x")) {
		t.Error("a directory that is not there was opened")
	}
}
