//go:build linux

package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// TestADirectoryAboveThatIsRenamed, and another one in its place.
func TestADirectoryAboveThatIsRenamed(t *testing.T) {
	w := newWorkspace(t)
	w.repository("a/b/c")
	for _, above := range []string{"a", "a/b", "a/b/c"} {
		found, stopped := w.attack(func() {
			w.Must(os.Rename(w.At(above), w.At("x")))
			w.write("a/b/c/config", evilConfig)
		})
		if found != "a/b/c/config" || !stopped {
			t.Errorf("%s: violations %q, stopped %v", above, found, stopped)
		}
		w.says("a/b/c/config", plainConfig)
		w.Must(os.RemoveAll(w.At(above)))
		w.Must(os.Rename(w.At("x"), w.At(above)))
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
				w := newWorkspace(t)
				w.skeleton("r")
				link := func() { w.Must(os.Link(w.At(name), w.At("x"))) }
				if when == "before" {
					link()
				}
				w.Protect(w.Root, Repository(w.At("r"), false))
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
	w := newWorkspace(t)
	w.repository("r")
	found, stopped := w.attack(func() {
		w.Must(os.Link(w.At("r/config"), w.At("x")))
		f, err := os.OpenFile(w.At("x"), os.O_APPEND|os.O_WRONLY, 0)
		w.Must(err)
		w.Must(os.Remove(w.At("x")))
		w.settle()
		_, err = f.WriteString("[core]\nfsmonitor = evil\n")
		w.Must(err)
		w.Must(f.Close())
	})
	if found != "r/config" || !stopped {
		t.Errorf("violations %q, stopped %v", found, stopped)
	}
	w.says("r/config", plainConfig)
}

// TestAWriteThroughMemory: inotify hears of none while the mapping stands. It is put back
// all the same, also where the file was mapped before it was protected.
func TestAWriteThroughMemory(t *testing.T) {
	for _, early := range []bool{false, true} {
		for _, name := range []string{"r/config", "r/hooks/pre-commit"} {
			w := newWorkspace(t)
			w.skeleton("r")
			was := "#!/bin/sh\n# a text of some length\n"
			evil := "#!/bin/sh\nevil\n"
			if name == "r/config" {
				was, evil = namedConfig, "[core]\nfsmonitor=evil\n"
			}
			w.write(name, was)
			var memory []byte
			if early {
				memory = w.mapped(name)
			}
			w.Protect(w.Root, Repository(w.At("r"), false))
			w.settle()
			stopped := make(chan struct{})
			c := w.Begin([]string{w.Root}, everywhere, sync.OnceFunc(func() { close(stopped) }))
			if !early {
				memory = w.mapped(name)
			}
			control := w.hears(name)
			copy(memory, evil)
			<-stopped // while the mapping stands
			if control() {
				t.Errorf("%s: inotify hears of a mapped write by itself", name)
			}
			found := c.End()
			w.Must(unix.Munmap(memory))
			if got := w.paths(found); !strings.HasPrefix(name, got) || got == "" {
				t.Errorf("%s, mapped before: %v: violations %q", name, early, got)
			}
			w.settle()
			w.says(name, was)
		}
	}
}

// mapped maps a file into memory, for writing.
func (w *workspace) mapped(name string) []byte {
	w.Helper()
	f, err := os.OpenFile(w.At(name), os.O_RDWR, 0)
	w.Must(err)
	memory, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	w.Must(err)
	w.Must(f.Close())
	return memory
}

// hears watches a file for writes, and says whether there were any.
func (w *workspace) hears(name string) func() bool {
	w.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	w.Must(err)
	w.Cleanup(func() { _ = unix.Close(fd) })
	_, err = unix.InotifyAddWatch(fd, w.At(name), unix.IN_MODIFY|unix.IN_CLOSE_WRITE)
	w.Must(err)
	return func() bool {
		n, _ := unix.Read(fd, make([]byte, 4096))
		return n > 0
	}
}

// TestWhoOpensAFileForWriting: the opener waits for the guard to release its lease and no
// longer; a person who writes in place keeps the file.
func TestWhoOpensAFileForWriting(t *testing.T) {
	w := newWorkspace(t)
	w.repository("r")
	for i := range 50 {
		w.add("r/config", "[user]\n\tname = "+strconv.Itoa(i)+"\n")
	}
	w.settle()
	fd, err := unix.Open(w.At("r/config"), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EWOULDBLOCK) { // it asks, and does not wait
		fd, err = unix.Open(w.At("r/config"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	}
	w.Must(err)
	w.Must(unix.Close(fd))
	if found, stopped := w.attack(func() { w.add("r/config", "[user]\n\temail = a@b\n") }); found != "" || stopped {
		t.Errorf("an honest write: violations %q, stopped %v", found, stopped)
	}
}

// TestNamesOfAnyKind: with newlines, and bytes that are no letters.
func TestNamesOfAnyKind(t *testing.T) {
	for _, name := range []string{"a\nb", "a b", "\xff\xfe", "-rf", "…", "*"} {
		w := newWorkspace(t)
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

// TestADirectoryThatIsFilledAtOnce: a file that is written right after mkdir is found.
func TestADirectoryThatIsFilledAtOnce(t *testing.T) {
	testcmdtest.Long(t)
	w := newWorkspace(t)
	w.repository("r")
	for i := range 100 {
		c := w.begin()
		deep := "r/hooks/" + strconv.Itoa(i)
		w.Mkdir(deep)
		for k := range 300 {
			// The guard may have taken the directory away meanwhile.
			_ = os.MkdirAll(w.At(deep), 0o700)
			_ = os.WriteFile(w.At(fmt.Sprintf("%s/%d", deep, k%200)), []byte("evil"), 0o600)
		}
		found := w.ends(c)
		if got := w.text(deep + "/7"); got != gone || strings.TrimSuffix(w.paths(found), "!") != "r/hooks" {
			t.Fatalf("round %d: there is %q, and violations are %v", i, got, found)
		}
		w.says("r/hooks/pre-commit", "#!/bin/sh\n")
	}
}

// TestEventsThatWereLost: after an overflow of the queue every item is checked.
func TestEventsThatWereLost(t *testing.T) {
	w := newWorkspace(t)
	w.repository("r")
	it := w.find(w.At("r/config"))
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

// TestWhatCannotBeWatched is checked when a command ends.
func TestWhatCannotBeWatched(t *testing.T) {
	w := newWorkspace(t)
	w.repository("r")
	it := w.find(w.At("r/config"))
	w.watch.forget(it)
	w.watch.mu.Lock()
	w.watch.of[it], w.watch.blind[it] = nil, true
	w.watch.mu.Unlock()
	found, stopped := w.attack(func() { w.write("r/config", evilConfig) })
	if found != "r/config" || !stopped {
		t.Errorf("violations %q, stopped %v", found, stopped)
	}
}

// TestManyRepositories: the first rescan, the watches, and what one attack among them
// takes.
func TestManyRepositories(t *testing.T) {
	w := newWorkspace(t)
	var items []Item
	for i := range 500 {
		name := "group/" + strconv.Itoa(i)
		w.skeleton(name)
		items = append(items, Repository(w.At(name), false)...)
	}
	began := time.Now()
	w.Protect(w.Root, items)
	took := time.Since(began)
	began = time.Now()
	w.Protect(w.Root, items)
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
	w.Protect(w.Root, items[:7])
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	if len(w.watch.marks) > 8 || len(w.watch.of) != 7 {
		t.Errorf("%d watches of %d items are left", len(w.watch.marks), len(w.watch.of))
	}
}
