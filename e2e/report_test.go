//go:build linux

package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tipstaff/e2e/kit"
)

// TestAReportChangesNothing: doctor and the like made ~/.m2, ~/.npm and the caches of all
// tools that are installed, and the state directory. The control is a command, which needs
// the caches.
func TestAReportChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"home/.cursor", "project/.git/objects", "project/.git/refs", "bin", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"mvn", "npm", "cargo", "pip"} {
		if err := os.WriteFile(filepath.Join(dir, "bin", tool), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		cmd := exec.Command(kit.Path(t), args...)
		cmd.Dir = filepath.Join(dir, "project")
		cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"), "ALLOWED_COMMANDS=ls"}
		out, _ := cmd.CombinedOutput() // what it says is another test's
		return string(out)
	}
	reports := [][]string{
		{"doctor"}, {"doctor", "--paths", "--json"}, {"doctor", "--client", "all"}, {"doctor", "--client", "cursor"}, {"config", "check"}, {"config", "show"},
		{"policy", "explain", "--", "ls"}, {"policy", "list"}, {"policy", "check"}, {"clients"}, {"install", "--client", "cursor", "--dry-run"},
		{"hook", "install", "claude-code", "--dry-run"}, {"uninstall", "--client", "all", "--dry-run"}, {"init"}, {"init", "--project"}, {"audit", "verify"}, {"audit", "search"}, {"version"},
	}
	unchanged := func(when string) {
		for _, args := range reports {
			before := everything(t, dir)
			said := run(args...)
			if after := everything(t, dir); !maps.Equal(before, after) {
				t.Errorf("%s: tipstaff %s has changed %s\n%s", when, strings.Join(args, " "), differences(before, after), said)
			}
		}
	}
	unchanged("at first")
	if said := run("install", "--client", "cursor", "--yes", "--no-start"); !strings.Contains(said, "written") {
		t.Fatal(said)
	}
	unchanged("after an installation")
	if said := run("doctor", "--client", "cursor"); !strings.Contains(said, "starts as the client starts it") {
		t.Error(said)
	}
	before := everything(t, dir)
	run("run", "--", "ls")
	made := differences(before, everything(t, dir))
	if !strings.Contains(made, "home/.m2") || !strings.Contains(made, "home/.npm") || !strings.Contains(made, "home/.local/state/tipstaff/audit") {
		t.Errorf("a command makes no caches and no record: %s", made)
	}
	unchanged("after a command")
}

// everything is what a directory holds: kinds, modes, and sizes and times of files.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			all[name] += fmt.Sprint(" ", info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func differences(before, after map[string]string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			names = append(names, name+" (gone)")
		}
	}
	return strings.Join(names, ", ")
}
