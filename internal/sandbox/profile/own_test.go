//go:build unix

package profile

import (
	"os"
	"testing"

	"tipstaff/internal/paths"
)

// mine is a file of tipstaff's own in a world.
func (w *fixture) mine(name string, o OwnFile) OwnFile {
	o.Path, o.Why = w.At(name), "tipstaff's own"
	return o
}

func TestOwnSecretsAreHiddenAndTheRestIsPinned(t *testing.T) {
	w := newFixture(t, "home/me/ws/conf/key", "home/me/ws/conf/cert", "home/me/ws/.tipstaff/policy.yaml", "etc/tipstaff/key", "etc/tipstaff/policy.yaml")
	w.OwnFiles = []OwnFile{
		w.mine("home/me/ws/conf/key", OwnFile{}), w.mine("home/me/ws/conf/cert", OwnFile{Readable: true}),
		w.mine("etc/tipstaff/key", OwnFile{}), w.mine("etc/tipstaff/policy.yaml", OwnFile{Readable: true}),
		w.mine("home/me/ws/none", OwnFile{}), w.mine("home/me/ws/nor", OwnFile{Readable: true}),
	}
	dir := w.mine("home/me/ws/.tipstaff", OwnFile{Readable: true})
	dir.Dir = true
	w.OwnFiles = append(w.OwnFiles, dir)
	p := w.resolve(Workspace)
	w.equal("hidden", w.hidden(p), "/etc/tipstaff/key /home/me/ws/conf/key")
	w.equal("pinned", w.pinned(p), "/home/me/ws/.tipstaff +/home/me/ws/conf /home/me/ws/conf/cert")
	w.equal("hidden, read-only", w.hidden(w.resolve(ReadOnly)), "/etc/tipstaff/key /home/me/ws/conf/key")
	if !p.Fresh() {
		t.Error("it is not fresh")
	}
	w.Make("home/me/ws/none")
	if p.Fresh() {
		t.Error("it is fresh although a secret has come where there was none")
	}
}

// TestAClosedDirectoryHidesNoOwnSecretFromResolve: a command can close a directory
// of its workspace, wait for a look that sees nothing there, and open it again.
func TestAClosedDirectoryHidesNoOwnSecretFromResolve(t *testing.T) {
	w := newFixture(t, "home/me/ws/conf/key")
	w.OwnFiles = []OwnFile{w.mine("home/me/ws/conf/key", OwnFile{})}
	w.Must(os.Chmod(w.At("home/me/ws/conf"), 0))
	t.Cleanup(func() { _ = os.Chmod(w.At("home/me/ws/conf"), 0o755) })
	p := w.resolve(Workspace)
	w.equal("hidden", w.hidden(p), "/home/me/ws/conf/key")
	a, err := p.Allow()
	w.Must(err)
	for _, g := range a.Grants {
		if paths.Within(w.At("home/me/ws/conf/key"), g.Path) && g.Right&(Read|Write) != 0 {
			t.Errorf("%s is granted %v", g.Path, g.Right)
		}
	}
}

// TestKeptDirectoriesAreReadableAndNotWritableWithLandlockAlone at the price that
// hidden ones have.
func TestKeptDirectoriesAreReadableAndNotWritableWithLandlockAlone(t *testing.T) {
	w := newFixture(t, "home/me/ws/out/proofs/1.txt", "home/me/ws/out/x", "home/me/ws/src/y")
	kept := w.mine("home/me/ws/out/proofs", OwnFile{Readable: true, ReadOnly: true})
	kept.Dir = true
	w.OwnFiles = []OwnFile{kept}
	p := w.resolve(Workspace)
	w.equal("pinned", w.pinned(p), "+/home/me/ws/out /home/me/ws/out/proofs")
	a, err := p.Allow()
	w.Must(err)
	for name, want := range map[string]Right{"out/proofs/1.txt": Read, "out/x": Read | Write, "out": Read, "src/new": Read | Write, "new": Read} {
		got := Right(0)
		for _, g := range a.Grants {
			if paths.Within(w.At("home/me/ws/"+name), g.Path) {
				got |= g.Right
			}
		}
		if got&(Read|Write) != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	w.says(a.Notes, "nothing can be made", "out")
}

// TestNoWorkspaceLiesInAnOwnDirectory whoever names it.
func TestNoWorkspaceLiesInAnOwnDirectory(t *testing.T) {
	w := newFixture(t, "data/own/file")
	dir := w.mine("data/own", OwnFile{Readable: true})
	dir.Dir = true
	w.OwnFiles = []OwnFile{dir}
	p := w.resolve(Workspace, "data/own")
	w.equal("workspace", w.names(p.Workspace), "")
	w.says(p.Notes, "is not made writable", "own")
}

func TestUnderOpenOwnFilesArePinnedInPlace(t *testing.T) {
	w := newFixture(t, "data/conf/key", "data/conf/policy.yaml")
	p := w.resolve(Open)
	p.PinOwn([]OwnFile{w.mine("data/conf/key", OwnFile{}), w.mine("data/conf/policy.yaml", OwnFile{Readable: true}), w.mine("data/none", OwnFile{})})
	w.equal("hidden", w.hidden(p), "/data/conf/key")
	held := map[string]bool{}
	for _, pin := range p.Pinned {
		held[w.name(pin.Path)] = pin.InPlace
	}
	for name, inPlace := range map[string]bool{"/data": true, "/data/conf": true, "/data/conf/policy.yaml": false} {
		if got, is := held[name]; !is || got != inPlace {
			t.Errorf("%s is pinned: %t, in place: %t", name, is, got)
		}
	}
}
