//go:build linux

package guard

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"tipstaff/internal/testing/testworld"
)

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestNothingIsLeftOfAGuard: no descriptor and no goroutine, also when much is under way.
func TestNothingIsLeftOfAGuard(t *testing.T) {
	round := func() {
		dir := t.TempDir()
		g, err := New(Options{Aside: dir + "/aside"})
		if err != nil {
			t.Fatal(err)
		}
		w := &workspace{Tree: &testworld.Tree{T: t, Root: dir + "/ws"}, Guard: g}
		w.pinned("p")
		w.repository("r")
		c := w.begin()
		for i := range 20 {
			w.add("r/config", "[core]\nfsmonitor = "+strconv.Itoa(i)+"\n")
			w.write("r/hooks/"+strconv.Itoa(i), "evil")
		}
		w.rename(w.lock("r/config", namedConfig))
		if len(c.End()) == 0 {
			t.Error("nothing was found")
		}
		_ = os.WriteFile(w.At("r/config"), []byte(evilConfig), 0o600)
		w.Must(w.Close())
	}
	round()
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 20 {
		round()
	}
	if now := descriptors(t); now > fds {
		t.Errorf("%d descriptors, there were %d", now, fds)
	}
	// The last ones have said that they are over, and may not be gone yet.
	for until := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(until) {
			t.Fatalf("%d goroutines, there were %d", runtime.NumGoroutine(), goroutines)
		}
	}
}

// TestAnItemThatIsRewrittenAgainAndAgain ends, and stays what it was; what is kept of
// it is bounded.
func TestAnItemThatIsRewrittenAgainAndAgain(t *testing.T) {
	w := newWorkspace(t)
	w.repository("r")
	c := w.begin()
	for i := range 2000 {
		x := w.At("x" + strconv.Itoa(i%2))
		w.Must(os.WriteFile(x, []byte(evilConfig+strconv.Itoa(i)), 0o600))
		w.Must(os.Rename(x, w.At("r/config")))
		if i%50 == 0 {
			w.settle()
			w.says("r/config", plainConfig)
		}
	}
	found := c.End()
	w.says("r/config", plainConfig)
	if w.paths(found) != "r/config" || len(found) != 1 || found[0].Aside == "" {
		t.Errorf("violations %v", found)
	}
	kept, err := os.ReadDir(w.o.Aside)
	w.Must(err)
	if len(kept) > mostKept {
		t.Errorf("%d copies are kept", len(kept))
	}
	// Afterwards a change is kept again.
	w.settle()
	w.Must(os.WriteFile(w.At("r/config"), []byte(namedConfig), 0o600))
	w.settle()
	_, _ = w.attack(func() { w.Must(os.WriteFile(w.At("r/config"), []byte(evilConfig), 0o600)) })
	if again, _ := os.ReadDir(w.o.Aside); len(again) <= len(kept) {
		t.Errorf("%d copies after %d", len(again), len(kept))
	}
}

// TestAllAtOnce: commands, persons, checks, binders and renames at the same time; for
// the race detector.
func TestAllAtOnce(t *testing.T) {
	w := newWorkspace(t)
	var items []Item
	for i := range 8 {
		name := "r" + strconv.Itoa(i)
		w.skeleton(name)
		items = append(items, Repository(w.At(name), false)...)
		items[len(items)-6].Pinned, items[len(items)-6].Stage = i%2 == 0, w.At(name+"/hooks")
	}
	w.Protect(w.Root, items)
	var all sync.WaitGroup
	for i := range 8 {
		name := "r" + strconv.Itoa(i)
		all.Go(func() {
			for k := range 20 {
				c := w.begin()
				_ = os.WriteFile(w.At(name+"/config"), []byte(evilConfig), 0o600)
				_ = os.WriteFile(w.At(name+"/hooks/x"), []byte("evil"), 0o600)
				w.Protect(w.Root, items[:len(items)-k%2])
				c.End()
			}
		})
		all.Go(func() {
			for range 20 {
				b := &pins{}
				before := w.Changes()
				if w.Join(b, before) {
					w.Stale(b)
					w.Leave(b)
				}
				a := w.lock(name+"/config", namedConfig)
				w.Supervise(a, func(string) {})
				<-a.done
			}
		})
	}
	all.Wait()
	w.settle()
	for i := range 8 {
		if got := w.text("r" + strconv.Itoa(i) + "/config"); i%2 == 1 && got == evilConfig {
			t.Errorf("r%d says %q", i, got)
		}
	}
}
