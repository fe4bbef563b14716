package facts

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/testing/testworld"
)

// TestCanonicalFollowsLinksAndKeepsWhatDoesNotExistYet.
func TestCanonicalFollowsLinksAndKeepsWhatDoesNotExistYet(t *testing.T) {
	w := testworld.New(t).Make("ws/src/", "out/", "ws/file")
	base := w.Root
	for name, to := range map[string]string{"ws/link": "../out", "ws/dangling": "../not-there", "ws/in": "src"} {
		w.Link(to, name)
	}
	h := New(Options{Log: slog.New(slog.DiscardHandler)})
	dir, err := h.Directory(filepath.Join(base, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for path, want := range map[string]string{
		"src":             "ws/src",
		".":               "ws",
		"..":              "",
		"new/deep/file":   "ws/new/deep/file",
		"link":            "out",
		"link/new":        "out/new",
		"link/../x":       "x", // .. of where the link leads, as the kernel has it
		"in/../file":      "ws/file",
		"src/../../out":   "out",
		base + "/out/new": "out/new",
	} {
		got, err := h.Canonical(path, dir)
		if err != nil || got != filepath.Join(base, want) {
			t.Errorf("%s leads to %s, %v; want %s", path, got, err, filepath.Join(base, want))
		}
	}
	for _, path := range []string{"", "a\x00b", "dangling", "dangling/x", "not/../x", "file/x", strings.Repeat("a/", 1000), strings.Repeat("x", 5000)} {
		if got, err := h.Canonical(path, dir); err == nil {
			t.Errorf("%.20q leads to %s", path, got)
		}
	}
	if _, err := h.Canonical("src", nil); err == nil {
		t.Error("a relative path leads somewhere from nowhere")
	}
}

// TestAListThatNobodyHasSetIsAbsent, and one that cannot be read is not.
func TestAListThatNobodyHasSetIsAbsent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tools-allow.json")
	for _, c := range []struct {
		says     string
		text     string
		optional bool
		absent   bool
	}{
		{"the default, missing", "", true, true},
		{"named by the operator, missing", "", false, false},
		{"the default, broken", "{", true, false},
		{"the default, good", `["ls"]`, true, false},
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if c.text != "" {
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h := New(Options{AllowlistPath: path, AllowlistOptional: c.optional, Log: slog.New(slog.DiscardHandler)})
		if l := h.Allowlist("terminal"); l.Absent != c.absent {
			t.Errorf("%s: %+v", c.says, l)
		}
		if l := h.Allowlist("execute"); !l.Absent {
			t.Errorf("ALLOWED_COMMANDS that nobody has set: %+v", l)
		}
	}
}
