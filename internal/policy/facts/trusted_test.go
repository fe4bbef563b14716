//go:build unix

package facts

import (
	"os"
	"strings"
	"testing"

	"tipstaff/internal/testing/testworld"
)

// settle puts a directory where only its owner can have written: t.TempDir may
// lie below one that is open to all, which is part of what is tested.
func settle(t *testing.T) *testworld.Tree {
	t.Helper()
	w := testworld.New(t)
	w.Write("ok/f.yaml", "fine")
	if _, err := ReadTrusted(w.At("ok/f.yaml")); err != nil {
		t.Skip("the directory of this test is not the tester's alone: ", err)
	}
	return w
}

func TestAFileThatOthersCanWriteIsRefused(t *testing.T) {
	w := settle(t)
	for _, c := range []struct {
		name  string
		make  func(dir string)
		fault string // "" is none
	}{
		{"an ordinary file", func(string) {}, ""},
		{"a file that its owner alone may read", func(dir string) { w.Chmod(dir+"/f.yaml", 0o600) }, ""},
		{"a file for everybody to write", func(dir string) { w.Chmod(dir+"/f.yaml", 0o666) }, "can be written by others (0666)"},
		{"a file for a group to write", func(dir string) { w.Chmod(dir+"/f.yaml", 0o664) }, "chmod go-w"},
		{"a directory for everybody to write", func(dir string) { w.Chmod(dir, 0o777) }, "whoever can write there can replace the file"},
		{"a directory for a group to write", func(dir string) { w.Chmod(dir, 0o775) }, "the directory"},
		{"a directory like /tmp", func(dir string) { w.Chmod(dir, os.ModeSticky|0o777) }, ""},
		{"a file like /tmp's, with the sticky bit of no meaning", func(dir string) { w.Chmod(dir+"/f.yaml", os.ModeSticky|0o666) }, "written by others"},
		{"a directory above", func(dir string) {
			w.Write(dir+"/open/below/f.yaml", "x")
			w.Chmod(dir+"/open", 0o777)
			w.Link("open/below/f.yaml", dir+"/g")
			w.Must(os.Rename(dir+"/g", dir+"/f.yaml"))
		}, "/open on its path"},
		{"a link in between that stands in an open directory", func(dir string) {
			w.Write(dir+"/real/f.yaml", "x")
			w.Link(dir+"/real", dir+"/open/second")
			w.Link("open/second/f.yaml", dir+"/first")
			w.Chmod(dir+"/open", 0o777)
			w.Must(os.Rename(dir+"/first", dir+"/f.yaml"))
		}, "/open on its path"},
		{"a link to a good file", func(dir string) {
			w.Write(dir+"/real/f.yaml", "x")
			w.Link("real/../real/f.yaml", dir+"/g")
			w.Must(os.Rename(dir+"/g", dir+"/f.yaml"))
		}, ""},
		{"a link to itself", func(dir string) {
			w.Link("f.yaml", dir+"/g")
			w.Must(os.Rename(dir+"/g", dir+"/f.yaml"))
		}, "too many levels of symbolic links"},
		{"a directory in its place", func(dir string) {
			w.Must(os.Remove(dir + "/f.yaml"))
			w.Write(dir+"/f.yaml/x", "x")
		}, "not a regular file"},
		{"a file as a directory", func(dir string) {
			w.Must(os.Rename(dir, dir+".away"))
			w.Write(dir, "x")
		}, "not a directory"},
		{"no file", func(dir string) {
			w.Must(os.Remove(dir + "/f.yaml"))
		}, "no such file"},
		{"a file of a byte too much", func(dir string) { w.Write(dir+"/f.yaml", strings.Repeat("x", maxTrusted+1)) }, "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := w.At(strings.ReplaceAll(c.name, "/", "-"))
			w.Write(dir+"/f.yaml", "text")
			c.make(dir)
			w.Link(dir+"/f.yaml", dir+".link")
			for _, path := range []string{dir + "/f.yaml", dir + ".link"} {
				_, err := ReadTrusted(path)
				switch {
				case c.fault == "" && err != nil:
					t.Errorf("%s: %v", path, err)
				case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
					t.Errorf("%s: want %q, got %v", path, c.fault, err)
				}
			}
		})
	}
}

func TestWhatBelongsToAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	w := settle(t)
	for _, c := range []struct{ name, give, fault string }{
		{"the file", "/f.yaml", "it belongs to another user (4711)"},
		{"its directory", "", "belongs to another user (4711)"},
		{"the link, though it leads to root's file", "/link", "the symbolic link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := w.At(c.name)
			w.Write(dir+"/f.yaml", "text")
			w.Chmod(dir, os.ModeSticky|0o777) // as /tmp: all users may make links
			w.Link("f.yaml", dir+"/link")
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
	w := testworld.New(t)
	dir := w.Root
	w.Write(dir+"/..one/f.yaml", "text")
	w.Write(dir+"/..two/f.yaml", "text")
	w.Link("..one", dir+"/..data")
	w.Link("..data/f.yaml", dir+"/f.yaml")
	w.Write(dir+"/plain", "text")
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
	w.Link("..two", dir+"/..tmp")
	w.Must(os.Rename(dir+"/..tmp", dir+"/..data"))
	changed("a link in the middle that leads elsewhere")
	w.Write(dir+"/plain", "texts")
	changed("another size")
	w.Write(dir+"/new", "texts")
	w.Must(os.Rename(dir+"/new", dir+"/plain"))
	changed("a file that was renamed into place")
	w.Must(os.Remove(dir + "/plain"))
	changed("a file that is gone")
}
