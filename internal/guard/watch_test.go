//go:build linux

package guard

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff"
)

// TestADirectoryAboveThatIsRenamed, and another one in its place.
func TestADirectoryAboveThatIsRenamed(t *testing.T) {
	w := newWorld(t)
	w.repository("a/b/c")
	for _, above := range []string{"a", "a/b", "a/b/c"} {
		found, stopped := w.attack(func() {
			w.must(os.Rename(w.at(above), w.at("x")))
			w.write("a/b/c/config", evilConfig)
		})
		if found != "a/b/c/config" || !stopped {
			t.Errorf("%s: violations %q, stopped %v", above, found, stopped)
		}
		w.says("a/b/c/config", plainConfig)
		w.must(os.RemoveAll(w.at(above)))
		w.must(os.Rename(w.at("x"), w.at(above)))
		w.settle()
	}
	if found, _ := w.attack(func() { w.add("a/b/c/config", "[core]\nfsmonitor = evil\n") }); found != "a/b/c/config" {
		t.Errorf("back again: violations %q", found)
	}
}

// TestAWriteByAnotherName of the same file is seen.
func TestAWriteByAnotherName(t *testing.T) {
	for _, name := range []string{"r/config", "r/hooks/pre-commit"} {
		for _, when := range []string{"before", "after"} {
			t.Run(name+" "+when, func(t *testing.T) {
				w := newWorld(t)
				w.skeleton("r")
				link := func() { w.must(os.Link(w.at(name), w.at("x"))) }
				if when == "before" {
					link()
				}
				w.Protect(w.root, Repository(w.at("r"), false))
				was := w.text(name)
				found, stopped := w.attack(func() {
					if when == "after" {
						link()
					}
					w.add("x", "[core]\nfsmonitor = evil\n")
				})
				w.says(name, was)
				if found == "" || !stopped {
					t.Errorf("violations %q, stopped %v", found, stopped)
				}
			})
		}
	}
}

// TestAWriteByANameThatIsGone is seen, though nothing leads to it any more.
func TestAWriteByANameThatIsGone(t *testing.T) {
	w := newWorld(t)
	w.repository("r")
	found, stopped := w.attack(func() {
		w.must(os.Link(w.at("r/config"), w.at("x")))
		f, err := os.OpenFile(w.at("x"), os.O_APPEND|os.O_WRONLY, 0)
		w.must(err)
		w.must(os.Remove(w.at("x")))
		w.settle()
		_, err = f.WriteString("[core]\nfsmonitor = evil\n")
		w.must(err)
		w.must(f.Close())
	})
	if found != "r/config" || !stopped {
		t.Errorf("violations %q, stopped %v", found, stopped)
	}
	w.says("r/config", plainConfig)
}

// TestAWriteThroughMemory is seen when the file is closed.
func TestAWriteThroughMemory(t *testing.T) {
	w := newWorld(t)
	w.repository("r")
	w.write("r/hooks/pre-commit", "#!/bin/sh\n# text\n")
	w.settle()
	found, stopped := w.attack(func() {
		f, err := os.OpenFile(w.at("r/hooks/pre-commit"), os.O_RDWR, 0)
		w.must(err)
		memory, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		w.must(err)
		w.must(f.Close())
		w.settle()
		copy(memory[10:], "evil\n")
		w.must(unix.Munmap(memory))
	})
	if found != "r/hooks" || !stopped {
		t.Errorf("violations %q, stopped %v", found, stopped)
	}
	w.says("r/hooks/pre-commit", "#!/bin/sh\n# text\n")
}

// TestNamesOfAnyKind: with newlines, and bytes that are no letters.
func TestNamesOfAnyKind(t *testing.T) {
	for _, name := range []string{"a\nb", "a b", "\xff\xfe", "-rf", "…", "*"} {
		w := newWorld(t)
		w.repository(name)
		found, _ := w.attack(func() {
			w.write(name+"/config", evilConfig)
			w.write(name+"/hooks/post\n"+name, "evil")
		})
		if want := name + "/config " + name + "/hooks"; found != want {
			t.Errorf("%q: violations %q", name, found)
		}
		w.says(name+"/config", plainConfig)
		w.says(name+"/hooks/post\n"+name, gone)
	}
}

// TestADirectoryThatIsFilledAtOnce: whatever is written right behind a mkdir is found.
func TestADirectoryThatIsFilledAtOnce(t *testing.T) {
	w := newWorld(t)
	w.repository("r")
	for i := range 100 {
		c := w.begin()
		deep := "r/hooks/" + strconv.Itoa(i)
		w.mkdir(deep)
		for k := range 300 {
			// The guard may have taken the directory away meanwhile.
			_ = os.MkdirAll(w.at(deep), 0o700)
			_ = os.WriteFile(w.at(fmt.Sprintf("%s/%d", deep, k%200)), []byte("evil"), 0o600)
		}
		found := c.End()
		for w.settled([]string{w.root}) != nil {
			t.Log("a look takes longer than the end of a command waits")
			found = []tipstaff.Violation{{Path: w.at("r/hooks")}}
		}
		if got := w.text(deep + "/7"); got != gone || strings.TrimSuffix(w.paths(found), "!") != "r/hooks" {
			t.Fatalf("round %d: there is %q, and violations are %v", i, got, found)
		}
		w.says("r/hooks/pre-commit", "#!/bin/sh\n")
	}
}

// TestEventsThatWereLost: after an overflow of the queue all is looked at.
func TestEventsThatWereLost(t *testing.T) {
	w := newWorld(t)
	w.repository("r")
	it := w.find(w.at("r/config"))
	w.watch.forget(it) // as good as lost
	w.watch.mu.Lock()
	w.watch.of[it] = nil
	w.watch.mu.Unlock()
	found, _ := w.attack(func() { w.write("r/config", evilConfig) })
	if found != "" {
		t.Skipf("the control sees it as well: %q", found)
	}
	found, stopped := w.attack(func() {
		w.add("r/config", "[core]\nfsmonitor = more\n")
		lost := make([]byte, unix.SizeofInotifyEvent)
		binary.NativeEndian.PutUint32(lost, ^uint32(0))
		binary.NativeEndian.PutUint32(lost[4:], unix.IN_Q_OVERFLOW)
		w.watch.mu.Lock()
		w.watch.events(lost, w.changed)
		w.watch.mu.Unlock()
	})
	if found != "r/config" || !stopped {
		t.Errorf("violations %q, stopped %v", found, stopped)
	}
}

// TestWhatCannotBeWatched is looked at when a command ends.
func TestWhatCannotBeWatched(t *testing.T) {
	w := newWorld(t)
	w.repository("r")
	it := w.find(w.at("r/config"))
	w.watch.forget(it)
	w.watch.mu.Lock()
	w.watch.of[it], w.watch.blind[it] = nil, true
	w.watch.mu.Unlock()
	found, stopped := w.attack(func() { w.write("r/config", evilConfig) })
	if found != "r/config" || !stopped {
		t.Errorf("violations %q, stopped %v", found, stopped)
	}
}

// TestManyRepositories: the first look, the watches, and what one attack among them
// takes.
func TestManyRepositories(t *testing.T) {
	w := newWorld(t)
	var items []Item
	for i := range 500 {
		name := "group/" + strconv.Itoa(i)
		w.skeleton(name)
		items = append(items, Repository(w.at(name), false)...)
	}
	began := time.Now()
	w.Protect(w.root, items)
	took := time.Since(began)
	began = time.Now()
	w.Protect(w.root, items)
	again := time.Since(began)
	w.watch.mu.Lock()
	watches := len(w.watch.marks)
	w.watch.mu.Unlock()
	t.Logf("%d items: the first look %v, the next %v, %d watches", len(items), took, again, watches)
	if watches > 8*500 {
		t.Errorf("%d watches", watches)
	}
	found, _ := w.attack(func() {
		for i := range 500 {
			w.write("group/"+strconv.Itoa(i)+"/config", evilConfig)
		}
	})
	for i := range 500 {
		w.says("group/"+strconv.Itoa(i)+"/config", plainConfig)
	}
	if found == "" {
		t.Error("nothing was told")
	}
	// What is dropped is not watched any more.
	w.Protect(w.root, items[:7])
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	if len(w.watch.marks) > 8 || len(w.watch.of) != 7 {
		t.Errorf("%d watches of %d items are left", len(w.watch.marks), len(w.watch.of))
	}
}
