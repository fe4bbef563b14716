//go:build unix

package host

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestWhereCommandsMayWrite: workspaces, caches and temporary directories, by
// whatever way a path leads there; not the rest.
func TestWhereCommandsMayWrite(t *testing.T) {
	base := tree(t, "ws/src/", "ws/file", "cwd/", "home/.cache/go/", "home/.sdkman/java/bin/", "sys/lib/jdk/", "real/cache/")
	for name, to := range map[string]string{
		"ws/out":      base + "/sys/lib", // a link of the workspace's own leads wherever commands want
		"sys/in":      base + "/ws/src",
		"sys/near":    "lib",
		"sys/dangles": base + "/nothing",
		"home/moved":  base + "/real/cache",
	} {
		if err := os.Symlink(to, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	h := New(Options{
		Roots: ParseRoots(base + "/ws"), Home: base + "/home", Log: slog.New(slog.DiscardHandler),
		Places: func() []string {
			return []string{base + "/home/.cache/go", base + "/home/moved", base + "/home/.cache/not-yet", "relative"}
		},
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

// TestPlacesAreKnownBeforeAProgramIsFound: a command that runs could lead them
// elsewhere, and none runs without its program.
func TestPlacesAreKnownBeforeAProgramIsFound(t *testing.T) {
	for says, find := range map[string]func(h *Host){
		"by its name": func(h *Host) { _, _ = h.Lookup("tool") },
		"by its path": func(h *Host) { _, _ = h.File("/bin/tool", nil) },
	} {
		asked := make(chan struct{})
		var known atomic.Bool
		h := New(Options{Log: slog.New(slog.DiscardHandler), Places: func() []string {
			<-asked
			for range 10_000 {
				runtime.Gosched()
			}
			known.Store(true)
			return nil
		}})
		close(asked)
		find(h)
		if !known.Load() {
			t.Errorf("%s: a program is found while the places are not known", says)
		}
	}
}

// TestWithoutASandboxCommandsWriteWhatTheUserMay.
func TestWithoutASandboxCommandsWriteWhatTheUserMay(t *testing.T) {
	base := tree(t, "ws/", "else/file")
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
