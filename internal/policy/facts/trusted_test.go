//go:build unix

package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// settle puts a directory where only its owner can have written: t.TempDir may
// lie below one that is open to all, which is part of what is tested.
func settle(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, base+"/ok/f.yaml", "fine")
	if _, err := ReadTrusted(base + "/ok/f.yaml"); err != nil {
		t.Skip("the directory of this test is not the tester's alone: ", err)
	}
	return base
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatOthersCanWriteIsRefused(t *testing.T) {
	base := settle(t)
	for _, c := range []struct {
		name  string
		make  func(dir string)
		fault string // "" is none
	}{
		{"an ordinary file", func(string) {}, ""},
		{"a file for everybody to write", func(dir string) { chmod(t, dir+"/f.yaml", 0o666) }, "can be written by others (0666)"},
		{"a file for a group to write", func(dir string) { chmod(t, dir+"/f.yaml", 0o664) }, "chmod go-w"},
		{"a directory for everybody to write", func(dir string) { chmod(t, dir, 0o777) }, "whoever can write there can replace the file"},
		{"a directory for a group to write", func(dir string) { chmod(t, dir, 0o775) }, "the directory"},
		{"a directory like /tmp", func(dir string) { chmod(t, dir, os.ModeSticky|0o777) }, ""},
		{"a file like /tmp's, with the sticky bit of no meaning", func(dir string) { chmod(t, dir+"/f.yaml", os.ModeSticky|0o666) }, "written by others"},
		{"a directory above", func(dir string) {
			put(t, dir+"/open/below/f.yaml", "x")
			chmod(t, dir+"/open", 0o777)
			link(t, "open/below/f.yaml", dir+"/g")
			if err := os.Rename(dir+"/g", dir+"/f.yaml"); err != nil {
				t.Fatal(err)
			}
		}, "/open on its path"},
		{"a link in between that stands in an open directory", func(dir string) {
			put(t, dir+"/real/f.yaml", "x")
			link(t, dir+"/real", dir+"/open/second")
			link(t, "open/second/f.yaml", dir+"/first")
			chmod(t, dir+"/open", 0o777)
			if err := os.Rename(dir+"/first", dir+"/f.yaml"); err != nil {
				t.Fatal(err)
			}
		}, "/open on its path"},
		{"a link to a good file", func(dir string) {
			put(t, dir+"/real/f.yaml", "x")
			link(t, "real/../real/f.yaml", dir+"/g")
			if err := os.Rename(dir+"/g", dir+"/f.yaml"); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"a link to itself", func(dir string) {
			link(t, "f.yaml", dir+"/g")
			if err := os.Rename(dir+"/g", dir+"/f.yaml"); err != nil {
				t.Fatal(err)
			}
		}, "too many levels of symbolic links"},
		{"a directory in its place", func(dir string) {
			if err := os.Remove(dir + "/f.yaml"); err != nil {
				t.Fatal(err)
			}
			put(t, dir+"/f.yaml/x", "x")
		}, "not a regular file"},
		{"a file as a directory", func(dir string) {
			if err := os.Rename(dir, dir+".away"); err != nil {
				t.Fatal(err)
			}
			put(t, dir, "x")
		}, "not a directory"},
		{"no file", func(dir string) {
			if err := os.Remove(dir + "/f.yaml"); err != nil {
				t.Fatal(err)
			}
		}, "no such file"},
		{"a file of 2 MiB", func(dir string) { put(t, dir+"/f.yaml", strings.Repeat("x", 2<<20)) }, "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(base, strings.ReplaceAll(c.name, "/", "-"))
			put(t, dir+"/f.yaml", "text")
			c.make(dir)
			_, err := ReadTrusted(dir + "/f.yaml")
			switch {
			case c.fault == "" && err != nil:
				t.Error(err)
			case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
				t.Errorf("want %q, got %v", c.fault, err)
			}
		})
	}
}

func TestWhatBelongsToAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	base := settle(t)
	for _, c := range []struct{ name, give, fault string }{
		{"the file", "/f.yaml", "it belongs to another user (4711)"},
		{"its directory", "", "belongs to another user (4711)"},
		{"the link, though it leads to root's file", "/link", "the symbolic link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(base, c.name)
			put(t, dir+"/f.yaml", "text")
			chmod(t, dir, os.ModeSticky|0o777) // as /tmp: all users may make links
			link(t, "f.yaml", dir+"/link")
			if err := os.Lchown(dir+c.give, 4711, 4711); err != nil {
				t.Skip("this root cannot give files away: ", err)
			}
			_, err := ReadTrusted(dir + "/link")
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("want %q, got %v", c.fault, err)
			}
		})
	}
}

// TestTheStateTellsEveryWayToReplaceAFile: written in place, renamed into place,
// and the links of a ConfigMap, of which one is replaced while the path and the
// link at its end stay.
func TestTheStateTellsEveryWayToReplaceAFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/..one/f.yaml", "text")
	put(t, dir+"/..two/f.yaml", "text")
	link(t, "..one", dir+"/..data")
	link(t, "..data/f.yaml", dir+"/f.yaml")
	put(t, dir+"/plain", "text")
	paths := []string{dir + "/f.yaml", dir + "/plain"}
	before, fresh := StateOf(paths)
	if !fresh {
		t.Error("what was made just now could change again unseen")
	}
	changed := func(what string) {
		t.Helper()
		after, _ := StateOf(paths)
		if after == before {
			t.Errorf("%s is not seen", what)
		}
		before = after
		if again, _ := StateOf(paths); again != before {
			t.Errorf("after %s it never comes to rest", what)
		}
	}
	link(t, "..two", dir+"/..tmp")
	if err := os.Rename(dir+"/..tmp", dir+"/..data"); err != nil {
		t.Fatal(err)
	}
	changed("a link in the middle that leads elsewhere")
	put(t, dir+"/plain", "texts")
	changed("another size")
	put(t, dir+"/new", "texts")
	if err := os.Rename(dir+"/new", dir+"/plain"); err != nil {
		t.Fatal(err)
	}
	changed("a file that was renamed into place")
	if err := os.Remove(dir + "/plain"); err != nil {
		t.Fatal(err)
	}
	changed("a file that is gone")
}
