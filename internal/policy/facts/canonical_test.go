package facts

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCanonicalFollowsLinksAndKeepsWhatDoesNotExistYet.
func TestCanonicalFollowsLinksAndKeepsWhatDoesNotExistYet(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"ws/src", "out"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"ws/link": "../out", "ws/dangling": "../not-there", "ws/in": "src"} {
		if err := os.Symlink(to, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "ws/file"), nil, 0o644); err != nil {
		t.Fatal(err)
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

// TestReadTrustedRefusesWhatOthersCouldHaveWritten.
func TestReadTrustedRefusesWhatOthersCouldHaveWritten(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "sub", "policy.yaml")
	link := filepath.Join(base, "link.yaml")
	write := func() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("version: 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says string
		path string
		mode os.FileMode
		want string // "" when it can be read
	}{
		{"the operator's alone", file, 0o600, ""},
		{"readable by all", file, 0o644, ""},
		{"writable by the group", file, 0o664, "can be written by others (0664)"},
		{"writable by all", file, 0o666, "can be written by others (0666)"},
		{"in a directory that all can write", filepath.Dir(file), 0o777, "whoever can write there can replace the file"},
		{"in a directory that the group can write", filepath.Dir(file), 0o775, "whoever can write there can replace the file"},
		{"in a directory for everybody's own files", filepath.Dir(file), 0o777 | os.ModeSticky, ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			if err := os.Chmod(c.path, c.mode); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{file, link} {
				_, err := ReadTrusted(path)
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v", path, err)
				}
			}
			if err := os.Chmod(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, path := range []string{base, filepath.Join(base, "nothing")} {
		if _, err := ReadTrusted(path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
	if err := os.WriteFile(file, make([]byte, maxTrusted+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTrusted(file); err == nil {
		t.Error("a file of more than a megabyte was read")
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
