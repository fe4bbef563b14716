//go:build linux

package guard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tipstaff/internal/testing/testworld"

	"tipstaff"
)

// workspace is a directory that commands may write, and a guard.
type workspace struct {
	*testworld.Tree
	*Guard

	asked []*asked // calls that were answered
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	outer := testworld.New(t).Make("ws/")
	w := &workspace{Tree: testworld.In(t, outer.At("ws"))}
	var err error
	w.Guard, err = New(Options{Aside: outer.At("aside")})
	w.Must(err)
	t.Cleanup(func() {
		w.Must(w.Close())
		for _, a := range w.asked {
			if len(a.done) > 0 {
				t.Errorf("a call was answered twice, then %q", <-a.done)
			}
		}
	})
	return w
}

// write makes a file that can be executed, as hooks are, in one step: the guard
// watches.
func (w *workspace) write(name, text string) {
	w.Helper()
	w.Mkdir(filepath.Dir(w.At(name)))
	w.Must(os.WriteFile(w.At(name), []byte(text), 0o755))
}

// add writes at the end of a file.
func (w *workspace) add(name, text string) {
	w.Helper()
	f, err := os.OpenFile(w.At(name), os.O_WRONLY|os.O_APPEND, 0)
	w.Must(err)
	_, err = f.WriteString(text)
	w.Must(err)
	w.Must(f.Close())
}

func (w *workspace) text(name string) string {
	data, err := os.ReadFile(w.At(name))
	if err != nil {
		return "(" + err.(*os.PathError).Err.Error() + ")" //nolint:errorlint,forcetypeassert // what ReadFile gives
	}
	return string(data)
}

func (w *workspace) says(name, want string) {
	w.Helper()
	if got := w.text(name); got != want {
		w.Errorf("%s is %q, want %q", name, got, want)
	}
}

// protect gives the guard the items, by paths relative to the root.
func (w *workspace) protect(items ...Item) []tipstaff.Violation {
	w.Helper()
	list := slices.Clone(items)
	for i := range list {
		list[i].Path = w.At(list[i].Path)
		if list[i].GitDir != "" {
			list[i].GitDir = w.At(list[i].GitDir)
		}
		if list[i].Why == "" {
			list[i].Why = "it steers others"
		}
	}
	return w.Protect(w.Root, list)
}

// repository makes one and protects it.
func (w *workspace) repository(name string) {
	w.Helper()
	w.skeleton(name)
	w.Protect(w.Root, Repository(w.At(name), false))
}

const plainConfig = "[core]\n\tbare = false\n"
const evilConfig = plainConfig + "\tfsmonitor = evil\n"
const namedConfig = plainConfig + "[user]\n\tname = A\n"

func (w *workspace) skeleton(name string) {
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

func (w *workspace) begin() *running {
	r := &running{}
	r.Command = w.Begin([]string{w.Root}, everywhere, func() { r.stopped.Add(1) })
	return r
}

// settle waits until the guard has judged all that has happened. It must not be used
// while a command is to be suspected: the one that it makes would be, too.
func (w *workspace) settle() { w.settled([]string{w.Root}) }

// paths are those of the violations, relative to the root.
func (w *workspace) paths(list []tipstaff.Violation) string {
	var names []string
	for _, v := range list {
		name, _ := filepath.Rel(w.Root, v.Path)
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
func (w *workspace) ends(c *running) []tipstaff.Violation {
	w.Helper()
	c.End()
	for w.settled([]string{w.Root}) != nil {
		w.Log("a look takes longer than the end of a command waits")
	}
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	return slices.Clone(c.found)
}

// attack runs what a command does, and says what was put back.
func (w *workspace) attack(what func()) (paths string, stopped bool) {
	w.Helper()
	c := w.begin()
	what()
	found := w.ends(c)
	return w.paths(found), c.stopped.Load() > 0
}

// everywhere is what is pinned in the sandbox of a command that was made after all pins.
func everywhere(string) bool { return true }
