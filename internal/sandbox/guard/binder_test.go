//go:build linux

package guard

import (
	"errors"
	"os"
	"testing"

	"tipstaff/internal/testing/testworld"
)

// pins is a binder that pins nothing.
type pins struct {
	fails bool
	then  func() // is done while a file is pinned
	bound []string
}

func (p *pins) Bind(dir, name string) error {
	if p.then != nil {
		p.then()
	}
	if p.fails {
		return errors.New("no mount")
	}
	p.bound = append(p.bound, dir+"/"+name)
	return nil
}

// pinned is a repository whose configuration is pinned, with a door.
func (w *workspace) pinned(name string) *item {
	w.Helper()
	w.skeleton(name)
	w.protect(Item{Path: name + "/config", Kind: Config, GitDir: name, Pinned: true, Stage: w.At(name) + "/hooks"})
	return w.find(w.At(name + "/config"))
}

// TestABinderThatMissedAChangeIsStale: one that pinned the new file is not.
func TestABinderThatMissedAChangeIsStale(t *testing.T) {
	w := newWorkspace(t)
	it := w.pinned("r")
	good, bad, left, late := &pins{}, &pins{fails: true}, &pins{}, &pins{}
	before := w.Changes()
	for _, b := range []*pins{good, bad, left} {
		if !w.Join(b, before) {
			t.Fatal("not taken in")
		}
	}
	w.Leave(left)
	good.then = func() {
		good.then = nil
		if !w.Join(late, before) { // its pin lies on the file that goes
			t.Error("not taken in")
		}
	}
	it.mu.Lock()
	now := it.read()
	next := now
	next.text = []byte(namedConfig)
	w.Must(w.replace(it, next, now, always))
	it.mu.Unlock()
	w.says("r/config", namedConfig)
	if w.Stale(good) || !w.Stale(bad) || !w.Stale(late) || w.Stale(left) {
		t.Errorf("good %v, bad %v, late %v, left %v", w.Stale(good), w.Stale(bad), w.Stale(late), w.Stale(left))
	}
	if len(good.bound) != 1 || len(left.bound) != 0 {
		t.Errorf("bound %v, %v", good.bound, left.bound)
	}
	if w.Join(&pins{}, before) || !w.Join(&pins{}, w.Changes()) {
		t.Error("a binder that was made before is taken in, or one that was made since is not")
	}
	w.nothingIn("r/hooks", "pre-commit")
}

// nothingIn fails where a directory holds more than these.
func (w *workspace) nothingIn(dir string, names ...string) {
	w.Helper()
	u := *w
	u.Tree = &testworld.Tree{T: w.T, Root: w.At(dir)}
	u.nothingBeside(names...)
}

// TestAReplacementThatIsNotMade leaves nothing, and no binder has missed anything.
func TestAReplacementThatIsNotMade(t *testing.T) {
	w := newWorkspace(t)
	it := w.pinned("r")
	b := &pins{}
	w.Join(b, w.Changes())
	it.mu.Lock()
	defer it.mu.Unlock()
	now := it.read()
	next := now
	next.text = []byte(namedConfig)
	if err := w.replace(it, next, now, func() bool { return false }); !errors.Is(err, errNotWaiting) {
		t.Error(err)
	}
	w.says("r/config", plainConfig)
	b.then = func() { w.write("x", "newer"); w.Must(os.Rename(w.At("x"), w.At("r/config"))) }
	if err := w.replace(it, next, now, always); !errors.Is(err, errNewer) {
		t.Error(err)
	}
	w.says("r/config", "newer")
	w.nothingIn("r/hooks", "pre-commit")
}

// TestAPersonReplacesAPinnedFile: a pinned copy takes its place, whose binders are not
// stale; a command cannot have written it in place.
func TestAPersonReplacesAPinnedFile(t *testing.T) {
	for _, runs := range []bool{false, true} {
		w := newWorkspace(t)
		it := w.pinned("r")
		b := &pins{}
		w.Join(b, w.Changes())
		c := &running{}
		if runs {
			c = w.begin()
		}
		w.write("x", namedConfig)
		w.Must(os.Rename(w.At("x"), w.At("r/config")))
		w.settle()
		w.says("r/config", namedConfig)
		if w.Stale(b) || len(b.bound) != 1 {
			t.Errorf("stale %v, bound %v", w.Stale(b), b.bound)
		}
		w.add("r/config", "[core]\nfsmonitor = a person's\n") // in place: there is a pin
		w.settle()
		w.says("r/config", namedConfig+"[core]\nfsmonitor = a person's\n")
		if runs {
			if found := c.End(); len(found) != 0 || c.stopped.Load() != 0 {
				t.Errorf("violations %v", found)
			}
		}
		it.mu.Lock()
		if it.accepted.id != it.read().id {
			t.Error("the file that is there is not the accepted one")
		}
		it.mu.Unlock()
	}
}

// TestAFileThatComesAgainIsAnother, though the kernel gives it the same number: a
// person has removed the pinned file, and with it the pin.
func TestAFileThatComesAgainIsAnother(t *testing.T) {
	w := newWorkspace(t)
	w.pinned("r")
	for range 50 {
		c := w.begin()
		w.Must(os.Remove(w.At("r/config")))
		w.Must(os.WriteFile(w.At("r/config"), []byte(evilConfig), 0o600))
		if found := c.End(); w.paths(found) != "r/config" {
			t.Fatalf("violations %v", found)
		}
		w.says("r/config", plainConfig)
	}
}

// TestAPinIsNoProofForAFileWithTwoNames, also when the other is gone.
func TestAPinIsNoProofForAFileWithTwoNames(t *testing.T) {
	w := newWorkspace(t)
	w.skeleton("r")
	w.Must(os.Link(w.At("r/config"), w.At("x")))
	w.protect(Item{Path: "r/config", Kind: Config, GitDir: "r", Pinned: true, Stage: w.At("r/hooks")})
	f, err := os.OpenFile(w.At("x"), os.O_APPEND|os.O_WRONLY, 0)
	w.Must(err)
	defer func() { _ = f.Close() }()
	w.Must(os.Remove(w.At("x")))
	w.settle()
	found, stopped := w.attack(func() {
		_, err := f.WriteString("[core]\nfsmonitor = evil\n")
		w.Must(err)
	})
	if found != "r/config" || !stopped {
		t.Errorf("violations %q, stopped %v", found, stopped)
	}
	w.says("r/config", plainConfig)
}

// TestADirectoryInPlaceOfAPinnedFile is put back as well.
func TestADirectoryInPlaceOfAPinnedFile(t *testing.T) {
	w := newWorkspace(t)
	w.pinned("r")
	found, _ := w.attack(func() {
		w.write("r/d/x", "evil")
		w.Must(os.Remove(w.At("r/config")))
		w.Must(os.Rename(w.At("r/d"), w.At("r/config")))
	})
	if found != "r/config" {
		t.Errorf("violations %q", found)
	}
	w.says("r/config", plainConfig)
}

// TestAnEmptyPointerIsNotTakenOver: git makes the file first, and writes then.
func TestAnEmptyPointerIsNotTakenOver(t *testing.T) {
	w := newWorkspace(t)
	w.repository("there")
	w.write("a/.git", "gitdir: ../there\n")
	w.Protect(w.Root, append(Repository(w.At("there"), false), Item{Path: w.At("a/.git"), Kind: Pointer, Why: "why"}))
	found, _ := w.attack(func() {
		w.Must(os.Truncate(w.At("a/.git"), 0))
		w.settle()
		w.add("a/.git", "gitdir: ../evil\n")
	})
	if found != "a/.git" {
		t.Errorf("violations %q", found)
	}
	w.says("a/.git", "gitdir: ../there\n")
}

// TestANewRepository: what it brings from git's templates stays, what names a program
// goes; no command is ended for what git has brought along.
func TestANewRepository(t *testing.T) {
	w := newWorkspace(t)
	w.write("r/config", evilConfig)
	w.write("r/hooks/pre-commit.sample", "#!/bin/sh\n")
	w.write("r/hooks/pre-commit", "evil")
	w.Mkdir("r/branches")
	c := w.begin()
	found := w.Protect(w.Root, Repository(w.At("r"), true))
	if got := w.paths(found); got != "r/config r/hooks" || c.stopped.Load() != 0 {
		t.Errorf("violations %q", got)
	}
	w.says("r/hooks/pre-commit", gone)
	w.says("r/hooks/pre-commit.sample", "#!/bin/sh\n")
	w.says("r/config", "[core]\n\tbare = \"false\"\n")
	c.End()
	if got, _ := w.attack(func() { w.write("r/branches/origin", "ext::sh -c evil"); w.write("r/commondir", "../evil") }); got != "r/branches r/commondir" {
		t.Errorf("violations %q", got)
	}
}

// TestAPinThatComesLaterDoesNotBindWhoRunsAlready: a command that started before the pin
// can write the file in place, and its write does not count as a person's.
func TestAPinThatComesLaterDoesNotBindWhoRunsAlready(t *testing.T) {
	for _, known := range []bool{false, true} {
		w := newWorkspace(t)
		w.repository("r")
		list := Repository(w.At("r"), false)
		if known {
			w.Protect(w.Root, list)
		}
		c := w.begin()
		for i := range list {
			list[i].Pinned = list[i].Kind == Config
		}
		w.Protect(w.Root, list)
		w.add("r/config", "[core]\nfsmonitor = evil\n")
		if found := c.End(); w.paths(found) != "r/config" {
			t.Errorf("known before: %v, violations %q", known, w.paths(found))
		}
		w.says("r/config", plainConfig)
	}
}
