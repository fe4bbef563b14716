//go:build linux

package guard

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/testing/testcmd/testcmdtest"

	"golang.org/x/sys/unix"
)

// TestALargeFileAmongHooks is a person's: it is never replaced by less, whatever
// happens around it; and one that a command has changed is not run.
func TestALargeFileAmongHooks(t *testing.T) {
	w := newWorkspace(t)
	large := strings.Repeat("x", mostFile+1)
	w.skeleton("r")
	w.write("r/hooks/large", large)
	w.Protect(w.Root, Repository(w.At("r"), false))
	found, _ := w.attack(func() { w.write("r/hooks/post-commit", "evil") })
	if found != "r/hooks" || w.text("r/hooks/post-commit") != gone || w.text("r/hooks/large") != large {
		t.Errorf("a name beside it: violations %q, %d bytes", found, len(w.text("r/hooks/large")))
	}
	found, _ = w.attack(func() {
		for i := range mostNames + 1 {
			w.write("r/hooks/"+strconv.Itoa(i), "evil")
		}
	})
	if found != "r/hooks" || w.text("r/hooks/1") != gone || w.text("r/hooks/large") != large {
		t.Errorf("many names: violations %q, %d bytes", found, len(w.text("r/hooks/large")))
	}
	found, stopped := w.attack(func() { w.add("r/hooks/large", "evil") })
	if found != "r/hooks!" || !stopped || w.text("r/hooks/large") != large+"evil" {
		t.Errorf("a change of it: violations %q, stopped %v, %d bytes", found, stopped, len(w.text("r/hooks/large")))
	}
	if st, err := os.Stat(w.At("r/hooks/large")); err != nil || st.Mode()&0o111 != 0 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// TestMoreNamesThanAreKept are put back as one.
func TestMoreNamesThanAreKept(t *testing.T) {
	w := newWorkspace(t)
	w.repository("r")
	found, stopped := w.attack(func() {
		for i := range mostNames + 10 {
			w.write("r/hooks/"+strconv.Itoa(i), "evil")
		}
	})
	list, err := os.ReadDir(w.At("r/hooks"))
	w.Must(err)
	if found != "r/hooks" || !stopped || len(list) != 1 {
		t.Errorf("violations %q, stopped %v, %d names", found, stopped, len(list))
	}
	w.says("r/hooks/pre-commit", "#!/bin/sh\n")
}

// TestATreeOfAnyDepthIsRemoved, with few descriptors.
func TestATreeOfAnyDepthIsRemoved(t *testing.T) {
	w := newWorkspace(t)
	w.repository("r")
	w.Mkdir("top")
	const at = "a-directory"
	dir, err := openDir(w.At("top"))
	w.Must(err)
	for range 1000 {
		w.Must(unix.Mkdirat(dir, at, 0o700))
		below, err := unix.Openat(dir, at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		w.Must(err)
		w.Must(unix.Close(dir))
		dir = below
	}
	w.Must(unix.Close(dir))
	found, _ := w.attack(func() { w.Must(os.Rename(w.At("top"), w.At("r/hooks/top"))) })
	list, err := os.ReadDir(w.At("r/hooks"))
	w.Must(err)
	if found != "r/hooks" || len(list) != 1 {
		t.Errorf("violations %q, there is %v", found, list)
	}
}

// TestALookIsBounded: a check reads a bounded amount, however many and large the files
// are that a command makes.
func TestALookIsBounded(t *testing.T) {
	testcmdtest.Long(t)
	w := newWorkspace(t)
	w.repository("r")
	for i := range 40 { // 10,000 files that claim 9 GiB
		for k := range 250 {
			name := "big/" + strconv.Itoa(i) + "/" + strconv.Itoa(k)
			w.write(name, "")
			w.Must(os.Truncate(w.At(name), 900_000))
		}
	}
	began := time.Now()
	c := read(w.At("big"), 0)
	if c.whole() {
		t.Error("it was read whole")
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a look took %v", took)
	}
	cmd := w.begin()
	w.Must(os.Rename(w.At("big"), w.At("r/hooks/big")))
	if found := w.paths(w.ends(cmd)); found != "r/hooks" || w.text("r/hooks/big/1/1") != gone {
		t.Errorf("violations %q", found)
	}
	w.says("r/hooks/pre-commit", "#!/bin/sh\n")
}

// TestMoreThanIsKeptOfADirectoryIsSaid: files that take no room on disk are as large in
// memory as others. Items that were there stay protected, and other directories are.
func TestMoreThanIsKeptOfADirectoryIsSaid(t *testing.T) {
	w := newWorkspace(t)
	defer func(most int) { mostHeld = most }(mostHeld)
	mostHeld = 4 << 20
	w.repository("r")
	var items []Item
	for i := range 10 {
		name := "many/" + strconv.Itoa(i)
		w.skeleton(name)
		w.write(name+"/hooks/pre-push", "")
		w.Must(os.Truncate(w.At(name+"/hooks/pre-push"), mostFile))
		items = append(items, Repository(w.At(name), false)...)
	}
	held := func() (n int) {
		for path := range w.items {
			n += w.holds(path)
		}
		return n
	}
	if w.Protect(w.At("many"), items); !w.Full([]string{w.Root, w.At("many")}) || w.Full([]string{w.Root}) || held() > mostFile {
		t.Errorf("%d bytes are kept; full: %v", held(), w.full)
	}
	if found, _ := w.attack(func() { w.write("r/hooks/pre-commit", "evil") }); found != "r/hooks" {
		t.Errorf("violations: %q", found)
	}
	if w.Protect(w.At("many"), items[:len(items)/5]); w.Full([]string{w.At("many")}) || held() < 2*mostFile {
		t.Errorf("%d bytes are kept of what is less; full: %v", held(), w.full)
	}
}
