//go:build unix

package facts

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/testing/testworld"
)

func newHost(t *testing.T, path string) *Host {
	t.Helper()
	return New(Options{Path: path, Log: slog.New(slog.DiscardHandler)})
}

func TestA6OnlyTrustedDirectoriesOfThePathCount(t *testing.T) {
	w := testworld.New(t).Make("good/", "open/", "file", "also/")
	base := w.Root
	w.Chmod("open", 0o777)
	list := []string{".", "", "bin", base + "/good", base + "/open", base + "/missing", base + "/file", base + "/good/", base + "/also"}
	got := Trusted(strings.Join(list, ":")).String()
	if want := base + "/good:" + base + "/also"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestA6ANameIsFoundAsExecvpFindsIt(t *testing.T) {
	w := testworld.New(t).Make("a/plain", "b/plain", "b/tool", "a/dir/", "b/dir")
	base := w.Root
	w.Chmod("a/plain", 0o644)
	h := newHost(t, base+"/a:"+base+"/b")
	for name, want := range map[string]string{"plain": "/b/plain", "tool": "/b/tool", "dir": "/b/dir"} {
		if p, err := h.Lookup(name); err != nil || p.Path != base+want {
			t.Errorf("%s is found at %q, %v", name, p.Path, err)
		}
	}
	for _, name := range []string{"", ".", "..", "none", "a/plain", "../b/tool", "tool\x00"} {
		if p, err := h.Lookup(name); !errors.Is(err, policy.ErrNotFound) {
			t.Errorf("%q is found at %q, %v", name, p.Path, err)
		}
	}
	w.Chmod("b/plain", 0o644)
	if os.Geteuid() == 0 { // root may execute what has any x bit; these have none
		if _, err := h.Lookup("plain"); !errors.Is(err, policy.ErrNotExecutable) {
			t.Errorf("a file without an x bit: %v", err)
		}
	}
}

func TestAReplacedProgramIsFoundAnewAndSaysSo(t *testing.T) {
	w := testworld.New(t).Make("bin/tool", "other")
	base := w.Root
	h := newHost(t, base+"/bin")
	first, err := h.Lookup("tool")
	if err != nil || first.Changed {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, _ := h.Lookup("tool"); again != first {
		t.Errorf("asked again it is %+v", again)
	}
	w.Must(os.Rename(base+"/other", base+"/bin/tool"))
	now, err := h.Lookup("tool")
	if err != nil || !now.Changed || now.File == first.File {
		t.Errorf("after it was replaced: %+v, %v", now, err)
	}
	if later, _ := h.Lookup("tool"); later.Changed || later.File != now.File {
		t.Errorf("and asked again: %+v", later)
	}
}

func TestAProgramEarlierOnThePathDoesNotTakeAResolvedName(t *testing.T) {
	w := testworld.New(t).Make("a/", "b/tool")
	base := w.Root
	h := newHost(t, base+"/a:"+base+"/b")
	first, err := h.Lookup("tool")
	if err != nil {
		t.Fatal(err)
	}
	w.Make("a/tool")
	if now, err := h.Lookup("tool"); err != nil || now != first {
		t.Errorf("now it is %+v, %v", now, err)
	}
}

func TestAFileIsTheSameByAnyOfItsNames(t *testing.T) {
	w := testworld.New(t).Make("bin/tool", "ws/")
	base := w.Root
	w.Link("../bin/tool", "ws/link")
	h := newHost(t, base+"/bin")
	byName, err := h.Lookup("tool")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := h.Directory(base + "/ws")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, path := range []string{"link", "./link", "../bin/tool", base + "/ws/../bin/tool"} {
		if p, err := h.File(path, dir); err != nil || p.File != byName.File {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	if _, err := h.File("none", dir); !errors.Is(err, policy.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestA9ADirectoryIsOpenedAndToldCanonically(t *testing.T) {
	w := testworld.New(t).Make("real/sub/", "file")
	base := w.Root
	w.Link("real", "link")
	h := newHost(t, "")
	d, err := h.Directory(base + "/link/sub/..")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Path() != base+"/real" {
		t.Errorf("its path is %s", d.Path())
	}
	for path, want := range map[string]error{"": policy.ErrNotFound, base + "/none": policy.ErrNotFound, base + "/file": policy.ErrNotDirectory, base + "/file/x": policy.ErrNotDirectory} {
		if _, err := h.Directory(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

func TestA10RootsAreResolvedOrTheWholeSettingIsBroken(t *testing.T) {
	w := testworld.New(t).Make("real/")
	base := w.Root
	w.Link("real", "link")
	for _, c := range []struct {
		setting string
		want    string // "" is no restriction
		broken  bool
	}{
		{"", "", false}, {"  ", "", false},
		{base + "/link", base + "/real", false},
		{" " + base + "/real , ,", base + "/real", false},
		{base + "/real," + base + "/none", "", true},
		{",", "", true},
	} {
		got, err := ParseRoots(c.setting).canonical()
		if (err != nil) != c.broken || strings.Join(got, ",") != c.want {
			t.Errorf("%q: %q, %v", c.setting, got, err)
		}
	}
}

// gate is one that lets nothing be read again.
type gate struct{ calls int }

func (g *gate) MayReread(...string) bool { g.calls++; return false }

// TestB9WhatACommandMayHaveChangedIsReadWhenAPersonSaysSo and only once before.
func TestB9WhatACommandMayHaveChangedIsReadWhenAPersonSaysSo(t *testing.T) {
	path, g := filepath.Join(t.TempDir(), "allow.json"), &gate{}
	if err := os.WriteFile(path, []byte(`["aa"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	h := New(Options{AllowlistPath: path, Gate: g, Log: slog.New(slog.DiscardHandler)})
	names := func() string { return strings.Join(h.Allowlist(tipstaff.Terminal).Names, " ") }
	if names() != "aa" || g.calls != 0 {
		t.Fatalf("at the start it allows %q, and the gate was asked %d times", names(), g.calls)
	}
	for _, change := range []func() error{
		func() error { return os.WriteFile(path, []byte(`["bb", "cc"]`), 0o600) },
		func() error { return os.Remove(path) },
		func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if names() != "aa" {
			t.Errorf("it allows %q", names())
		}
	}
	if l := h.Reload(); l.Fault == "" || names() != "" {
		t.Errorf("with a directory in its place it allows %q after a person has asked", names())
	}
}

func TestB9TheAllowlistFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "allow.json")
	h := New(Options{AllowlistPath: path, Log: slog.New(slog.DiscardHandler)})
	list := func() policy.Allowlist { return h.Allowlist(tipstaff.Terminal) }
	if l := list(); l.Fault == "" || len(l.Names) != 0 || l.Source != path {
		t.Errorf("without the file: %+v", l)
	}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`["aa"]`)
	if l := list(); l.Fault != "" || len(l.Names) != 1 || l.Names[0] != "aa" {
		t.Errorf("with the file: %+v", l)
	}
	write(`["bb"]`) // the same size, within the clock's step
	if l := list(); len(l.Names) != 1 || l.Names[0] != "bb" {
		t.Errorf("with another: %+v", l)
	}
	write(`["bb"`)
	if l := list(); l.Fault == "" || len(l.Names) != 0 {
		t.Errorf("half a file: %+v", l)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if l := list(); !strings.Contains(l.Fault, "regular") {
		t.Errorf("a directory: %+v", l)
	}
	if l := h.Allowlist("nobody's"); l.Any || len(l.Names) != 0 {
		t.Errorf("an unknown family may run %+v", l)
	}
}

// TestAChangeWithinATickOfAnotherIsReadLater, though nobody asks until its time is old.
func TestAChangeWithinATickOfAnotherIsReadLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the file has the times of the bubble
		path := filepath.Join(t.TempDir(), "allow.json")
		h := New(Options{AllowlistPath: path, Log: slog.New(slog.DiscardHandler)})
		tick := time.Now()
		for _, c := range []struct {
			name  string
			pause time.Duration
		}{{"aa", 0}, {"bb", 0}, {"cc", settled + time.Second}} {
			if err := errors.Join(os.WriteFile(path, []byte(`["`+c.name+`"]`), 0o600), os.Chtimes(path, tick, tick)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.pause)
			if l := h.Allowlist(tipstaff.Terminal); len(l.Names) != 1 || l.Names[0] != c.name {
				t.Errorf("with %s: %+v", c.name, l)
			}
		}
	})
}
