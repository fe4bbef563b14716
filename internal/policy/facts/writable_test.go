//go:build unix

package facts

import (
	"log/slog"
	"os"
	"testing"

	"tipstaff/internal/testing/testworld"
)

// TestWhereCommandsMayWrite: workspaces, caches and temporary directories, by
// whatever way a path leads there; not the rest.
func TestWhereCommandsMayWrite(t *testing.T) {
	w := testworld.New(t).Make("ws/src/", "ws/file", "cwd/", "home/.cache/go/", "home/.sdkman/java/bin/", "sys/lib/jdk/", "real/cache/")
	base := w.Root
	for name, to := range map[string]string{
		"ws/out":      base + "/sys/lib", // a link of the workspace's own leads wherever commands want
		"sys/in":      base + "/ws/src",
		"sys/near":    "lib",
		"sys/dangles": base + "/nothing",
		"home/moved":  base + "/real/cache",
	} {
		w.Link(to, name)
	}
	h := New(Options{
		Roots: ParseRoots(base + "/ws"), Home: base + "/home", Log: slog.New(slog.DiscardHandler),
		WritablePaths: []string{base + "/home/.cache/go", base + "/home/moved", base + "/home/.cache/not-yet", "relative"},
	})
	dir, err := h.Directory(base + "/cwd")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for path, want := range map[string]bool{
		"/ws": true, "/ws/file": true, "/ws/new/deep": true, "/ws/src/../file": true, "/cwd/x": true,
		"/home/.cache/go/x": true, "/home/.cache/not-yet/x": true, "/real/cache/x": true, "/home/moved/x": true,
		"/ws/out/jdk": true, "/sys/in": true, "/sys/in/x": true, "/sys/dangles": true, "/sys/../ws": true, "//ws": true,
		"/home": true, "/home/.cache": true, "": true, // they are around such a place
		"/sys": false, "/sys/lib": false, "/sys/lib/jdk": false, "/sys/near/jdk": false, "/sys/lib/not-there": false,
		"/home/.sdkman/java": false, "/home/.cache/other": false, "/wsx": false, "/sys/lib/../lib/jdk": false,
	} {
		if got := h.Writable(base+path, dir); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	for path, want := range map[string]bool{"~": true, "~/.cache/go": true, "~/.sdkman/java": false, "~root": true, "x": true, "a\x00b": true, "/": false, "/usr": false} {
		if got := h.Writable(path, dir); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
	if !h.Writable("/proc/self/root/x\x00", nil) {
		t.Error("a path that is none cannot be written")
	}
}

// TestPlacesThatBeginAlikeAreFollowedAsEachAlone also where links dangle or turn in
// circles.
func TestPlacesThatBeginAlikeAreFollowedAsEachAlone(t *testing.T) {
	w := testworld.New(t).Make("a/b/c/", "a/file", "real/deep/")
	base := w.Root
	for name, to := range map[string]string{
		"a/link": base + "/real", "a/near": "b", "a/dangles": base + "/nothing", "a/loop": "loop", "a/b/up": "../../real/deep", "real/again": base + "/a",
	} {
		w.Link(to, name)
	}
	h := New(Options{})
	p := prefixes{host: h, canonical: map[string]string{}}
	for _, path := range []string{
		"", "/a", "/a/b/c", "/a/b/c/new/er", "/a/b/other", "/a/file", "/a/file/below", "/a/link", "/a/link/deep", "/a/link/deep/new", "/a/link/new/deep", "/a/link/again/b",
		"/a/near/c", "/a/near/new", "/a/dangles", "/a/dangles/x", "/a/loop", "/a/loop/x", "/a/b/up", "/a/b/up/x", "/none/at/all", "/none/at/else",
	} {
		want, wantErr := h.Canonical(base+path, nil)
		for range 2 { // the second time it is known
			if got, err := p.follow(base + path); got != want || (err == nil) != (wantErr == nil) {
				t.Errorf("%s: %s, %v; alone %s, %v", path, got, err, want, wantErr)
			}
		}
	}
}

// TestWithoutASandboxCommandsWriteWhatTheUserMay.
func TestWithoutASandboxCommandsWriteWhatTheUserMay(t *testing.T) {
	base := testworld.New(t).Make("ws/", "else/file").Root
	h := New(Options{Roots: ParseRoots(base + "/ws"), Log: slog.New(slog.DiscardHandler)})
	if h.Writable(base+"/else/file", nil) {
		t.Error("a confined command may write elsewhere")
	}
	h.AskUnconfined(func() bool { return true })
	if !h.Writable(base+"/else/file", nil) || !h.Writable(base+"/else/new", nil) {
		t.Error("a command without a sandbox may not write what the user may")
	}
	if os.Getuid() != 0 && h.Writable("/usr/bin", nil) {
		t.Error("an ordinary user may write /usr/bin")
	}
}

// TestBrokenRootsMakeEveryPlaceWritable: what cannot be told is writable.
func TestBrokenRootsMakeEveryPlaceWritable(t *testing.T) {
	h := New(Options{Roots: ParseRoots("/not/there"), Log: slog.New(slog.DiscardHandler)})
	if !h.Writable("/usr", nil) {
		t.Error("/usr is told from a setting that is broken")
	}
}
