//go:build unix

package facts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
	"tipstaff/internal/testing/testworld"
)

// finds returns what a pattern of a command in a directory matches.
func finds(t *testing.T, h *Host, dir, pattern string) ([]string, error) {
	t.Helper()
	d, err := h.Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := cmdline.Read("x " + pattern)
	if err != nil || len(l.Patterns) != 1 {
		t.Fatalf("%q is no pattern: %v", pattern, err)
	}
	files := h.Files(d)
	defer files.Close()
	return l.Patterns[0].Find(files, 100)
}

// TestA2PatternsAreLookedUpInTheCommandsDirectoryOnly: neither paths nor links
// lead out of it, and what is secret is not looked at.
func TestA2PatternsAreLookedUpInTheCommandsDirectoryOnly(t *testing.T) {
	w := testworld.New(t).Make("ws/a.o", "ws/b.o", "ws/src/c.o", "ws/src/.hid", "ws/keys/id", "ws/empty/", "out/secret.o")
	base := w.Root
	ws := base + "/ws"
	for name, to := range map[string]string{"in": "src", "away": "../out", "far": base + "/out", "circle": "circle", "dead": "nothing"} {
		w.Link(to, "ws/"+name)
	}
	if err := syscall.Mkfifo(ws+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	h := New(Options{Secrets: func() []string { return []string{ws + "/keys"} }})
	for _, c := range []struct {
		pattern, want string
		err           error
	}{
		{"*.o", "a.o b.o", nil},
		{"./*.o", "./a.o ./b.o", nil},
		{"*.c", "", nil},
		{"src/*", "src/c.o", nil},
		{"src/.h*", "src/.hid", nil},
		{"in/*.o", "in/c.o", nil},
		{"src/../*.o", "src/../a.o src/../b.o", nil},
		{"nowhere/*", "", nil},
		{"empty/*", "", nil},
		{"a.o/*", "", nil},
		{"fifo/*", "", nil},
		{"dead/*", "", nil},
		{"s*/", "src/", nil},
		{"i*/", "in/", nil},
		{"a*/", "", policy.ErrOutside}, // the link away leads out
		{"d*", "dead", nil},
		{"s*/c.o", "src/c.o", nil},
		{"s*/d.o", "", nil},
		{"?.o/x", "", nil},
		{ws + "/*.o", ws + "/a.o " + ws + "/b.o", nil},
		{"https://h.test/a?b=1", "", nil},
		{"/no-such-thing-at-all/x?y=1", "", nil},
		{"/no-such-thing-at-a*", "", nil},

		{"../*", "", policy.ErrOutside},
		{base + "/out/*", "", policy.ErrOutside},
		{ws + "/../out/*", "", policy.ErrOutside},
		{"away/*", "", policy.ErrOutside},
		{"far/*", "", policy.ErrOutside},
		{"far/*.nothing", "", policy.ErrOutside},
		{"f*/secret.o", "", policy.ErrOutside},
		{"circle/*", "", policy.ErrOutside},
		{"keys/*", "", policy.ErrOutside},
		{"k*/id", "", policy.ErrOutside},
		{"k*/nothing", "", policy.ErrOutside},
		{"/proc/self/environ*", "", policy.ErrOutside},
	} {
		got, err := finds(t, h, ws, c.pattern)
		if strings.Join(got, " ") != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v; want %q, %v", c.pattern, got, err, c.want, c.err)
		}
	}
	// Control: without the list of secrets they are files like others.
	if got, err := finds(t, New(Options{}), ws, "keys/*"); !slices.Equal(got, []string{"keys/id"}) || err != nil {
		t.Errorf("keys/*: %q, %v", got, err)
	}
}

// TestA2DirectoriesThatCommandsHaveOfTheirOwnAreNotLookedUp: a command in
// namespaces has another /tmp.
func TestA2DirectoriesThatCommandsHaveOfTheirOwnAreNotLookedUp(t *testing.T) {
	for _, c := range []struct {
		dir, listed string
		want        bool
	}{
		{"/tmp", "/tmp", false}, {"/", "/tmp", false}, {"/", "/tmp/x", false}, {"/", "/usr", true},
		{"/tmp/ws", "/tmp/ws", true}, {"/tmp/ws", "/tmp/ws/src", true}, {"/tmp/ws", "/tmp", false},
		{"/var/tmp/ws", "/var/tmp/ws", true}, {"/var", "/var/tmp", false}, {"/var", "/var/lib", true},
		{"/proc", "/proc/self", false}, {"/proc/1", "/proc/1", false}, {"/dev", "/dev/shm", false},
	} {
		f := files{dir: c.dir}
		if got := f.visible(c.listed); got != c.want {
			t.Errorf("a command in %s, the directory %s: %v", c.dir, c.listed, got)
		}
	}
}

// TestA2ThereIsABoundForPatterns, after which the answer is that it is not known.
func TestA2ThereIsABoundForPatterns(t *testing.T) {
	ws := t.TempDir()
	for i := range 30 {
		for j := range 20 {
			if err := os.MkdirAll(fmt.Sprintf("%s/%d/%d/x", ws, i, j), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		pattern string
		files   files
		err     error
	}{
		{"*/*/*/y", files{end: time.Now().Add(time.Minute)}, nil},
		{"*/*/*/y", files{end: time.Now().Add(time.Minute), looked: maxLooked - 5000}, policy.ErrTooManyFiles},
		{"*/*/*/y", files{end: time.Now().Add(-time.Second)}, policy.ErrTooManyFiles},
		{"*.y", files{end: time.Now().Add(time.Minute), looked: maxLooked}, policy.ErrTooManyFiles},
	} {
		root, err := os.OpenRoot(ws)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = root.Close() })
		c.files.root = root
		if c.files.dir, err = filepath.EvalSymlinks(ws); err != nil {
			t.Fatal(err)
		}
		l, err := cmdline.Read("x " + c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.Patterns[0].Find(&c.files, 10); len(got) > 0 || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v, want %v", c.pattern, got, err, c.err)
		}
	}
}
