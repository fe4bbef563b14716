//go:build unix

package facts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func program(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

func TestAProgramThatIsInstalledElsewhereIsFound(t *testing.T) {
	home := filepath.Join(t.TempDir(), "ho*me")
	local := program(t, filepath.Join(home, ".local/bin/tool-a"))
	program(t, filepath.Join(home, ".nvm/versions/node/v9.1.0/bin/tool-b"))
	newest := program(t, filepath.Join(home, ".nvm/versions/node/v10.0.0/bin/tool-b"))
	java := program(t, filepath.Join(home, ".sdkman/candidates/java/current/bin/tool-c"))
	program(t, filepath.Join(home, ".sdkman/candidates/maven/current/bin/tool-d"))
	open := program(t, filepath.Join(home, "bin/tool-e"))
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	h := New(Options{Path: "/bin", Home: home})
	for name, want := range map[string]string{
		"tool-a": local, "tool-b": newest, "tool-c": java, "tool-e": "", "no-such-tool": "", "../tool-a": "", "": "",
	} {
		if got := h.UnsearchedDir(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := New(Options{Path: local, Home: home}).UnsearchedDir("tool-a"); got != "" {
		t.Errorf("where the server looks: %q", got)
	}
	if slices.Contains(UsualDirs(""), ".local/bin") {
		t.Error("without a home directory there is none of its places")
	}
}
