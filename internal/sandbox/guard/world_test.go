//go:build linux

package guard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tipstaff"
)

// world is a directory that commands may write, and a guard.
type world struct {
	*testing.T
	*Guard
	root  string
	asked []*asked // calls that were answered
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, root: dir + "/ws"}
	w.mkdir(".")
	if w.Guard, err = New(Options{Aside: dir + "/aside"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.must(w.Close())
		for _, a := range w.asked {
			if len(a.done) > 0 {
				t.Errorf("a call was answered twice, then %q", <-a.done)
			}
		}
	})
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) at(name string) string { return filepath.Join(w.root, name) }

func (w *world) mkdir(name string) {
	w.Helper()
	w.must(os.MkdirAll(w.at(name), 0o755))
}

func (w *world) write(name, text string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	w.must(os.WriteFile(w.at(name), []byte(text), 0o755))
}

// add writes at the end of a file.
func (w *world) add(name, text string) {
	w.Helper()
	f, err := os.OpenFile(w.at(name), os.O_WRONLY|os.O_APPEND, 0)
	w.must(err)
	_, err = f.WriteString(text)
	w.must(err)
	w.must(f.Close())
}

func (w *world) text(name string) string {
	data, err := os.ReadFile(w.at(name))
	if err != nil {
		return "(" + err.(*os.PathError).Err.Error() + ")" //nolint:errorlint,forcetypeassert // what ReadFile gives
	}
	return string(data)
}

func (w *world) says(name, want string) {
	w.Helper()
	if got := w.text(name); got != want {
		w.Errorf("%s is %q, want %q", name, got, want)
	}
}

// protect gives the guard the items, by paths relative to the root.
func (w *world) protect(items ...Item) []tipstaff.Violation {
	w.Helper()
	list := slices.Clone(items)
	for i := range list {
		list[i].Path = w.at(list[i].Path)
		if list[i].GitDir != "" {
			list[i].GitDir = w.at(list[i].GitDir)
		}
		if list[i].Why == "" {
			list[i].Why = "it steers others"
		}
	}
	return w.Protect(w.root, list)
}

// repository makes one and protects it.
func (w *world) repository(name string) {
	w.Helper()
	w.skeleton(name)
	w.Protect(w.root, Repository(w.at(name), false))
}

const plainConfig = "[core]\n\tbare = false\n"
const evilConfig = plainConfig + "\tfsmonitor = evil\n"
const namedConfig = plainConfig + "[user]\n\tname = A\n"

func (w *world) skeleton(name string) {
	w.Helper()
	w.write(name+"/config", plainConfig)
	w.write(name+"/HEAD", "ref: refs/heads/main\n")
	w.write(name+"/hooks/pre-commit", "#!/bin/sh\n")
}

// running is a command of a test.
type running struct {
	*Command
	stopped atomic.Int32
}

func (w *world) begin() *running {
	r := &running{}
	r.Command = w.Begin([]string{w.root}, everywhere, func() { r.stopped.Add(1) })
	return r
}

// settle waits until the guard has judged all that has happened. It must not be used
// while a command is to be suspected: the one that it makes would be, too.
func (w *world) settle() { w.settled([]string{w.root}) }

// paths are those of the violations, relative to the root.
func (w *world) paths(list []tipstaff.Violation) string {
	var names []string
	for _, v := range list {
		name, _ := filepath.Rel(w.root, v.Path)
		if v.Fault != "" {
			name += "!"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// ends ends a command and returns what was found, also by a look that took longer
// than the end of a command waits.
func (w *world) ends(c *running) []tipstaff.Violation {
	w.Helper()
	c.End()
	for w.settled([]string{w.root}) != nil {
		w.Log("a look takes longer than the end of a command waits")
	}
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	return slices.Clone(c.found)
}

// attack runs what a command does, and says what was put back.
func (w *world) attack(what func()) (paths string, stopped bool) {
	w.Helper()
	c := w.begin()
	what()
	found := w.ends(c)
	return w.paths(found), c.stopped.Load() > 0
}

// everywhere is what is pinned in the sandbox of a command that was made after all pins.
func everywhere(string) bool { return true }
