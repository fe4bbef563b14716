//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// deep makes so many directories in each other, with a file in each, and returns the
// first one. A path could not name the last.
func (b *box) deep(dir string, levels int) string {
	b.t.Helper()
	b.mkdir(dir)
	in, err := unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for range levels {
		b.must(err)
		b.must(unix.Mkdirat(in, "d", 0o700))
		f, err := unix.Openat(in, "f", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		b.must(errors.Join(err, unix.Close(f)))
		next, failure := unix.Openat(in, "d", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		b.must(errors.Join(failure, unix.Close(in)))
		in = next
	}
	b.must(unix.Close(in))
	return dir
}

const deepLevels = 1000

// TestATreeMayBeDeeperThanThereAreDescriptors. The control is os.RemoveAll.
func TestATreeMayBeDeeperThanThereAreDescriptors(t *testing.T) {
	w := newWorld(t)
	for name, works := range map[string]bool{"ours": true, "control": false} {
		dir := w.deep(w.root+"/"+name, deepLevels)
		cmd := exec.Command("prlimit", "--nofile=256", os.Args[0], "-test.run=^TestHelperMeasuresAndRemoves$")
		cmd.Env = append(os.Environ(), "TREE_HELPER="+name+":"+dir)
		out, err := cmd.CombinedOutput()
		if works && err != nil && !(testcmdtest.Lost(err) && strings.HasPrefix(string(out), "PASS")) {
			t.Errorf("with 256 descriptors: %v: %s", err, out)
		}
		if !works && !strings.Contains(string(out), "too many open files") {
			t.Errorf("os.RemoveAll did not fail for it: nothing is shown: %v: %s", err, out)
		}
		w.must(removeTree(dir, nil))
	}
}

func TestHelperMeasuresAndRemoves(t *testing.T) {
	which, dir, ok := strings.Cut(os.Getenv("TREE_HELPER"), ":")
	if !ok {
		t.Skip("it is run by another test")
	}
	if which == "control" {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, ok := sizeOf(dir, nil); !ok || got < 2*deepLevels*fileBytes {
		t.Errorf("it has %d bytes, %t", got, ok)
	}
	if err := removeTree(dir, nil); err != nil {
		t.Error(err)
	}
	if exists(dir) == "there" {
		t.Error("it is still there")
	}
}

// TestAWalkEndsWhenItIsAskedTo, wherever it is, and what is left can be removed later.
func TestAWalkEndsWhenItIsAskedTo(t *testing.T) {
	w := newWorld(t)
	for _, at := range []int{1, keptOpen, 3 * keptOpen} {
		dir := w.deep(fmt.Sprint(w.root, "/", at), 4*keptOpen)
		ended := make(chan struct{})
		files := 0
		walk := treeWalk{ended: ended, file: func(int, string, *unix.Stat_t) error {
			if files++; files == at {
				close(ended)
			}
			return nil
		}}
		if err := walk.walk(dir); !errors.Is(err, errWalkEnded) || files != at {
			t.Errorf("ended at the file %d, it says %v and saw %d", at, err, files)
		}
		if _, ok := sizeOf(dir, ended); ok {
			t.Error("to measure was not ended")
		}
		if err := removeTree(dir, ended); !errors.Is(err, errWalkEnded) {
			t.Errorf("to remove was not ended: %v", err)
		}
		w.must(removeTree(dir, nil))
	}
}

// TestAWalkStaysInItsTree: a directory that is moved out of it while the walk is in it
// leads the walk nowhere else, and what lies higher is visited all the same.
func TestAWalkStaysInItsTree(t *testing.T) {
	for _, at := range []int{2, keptOpen + 3} { // levels that stay open, and others
		w := newWorld(t)
		dir := w.deep(w.root+"/tree", 2*keptOpen)
		w.write(w.root+"/elsewhere/secret", "x")
		w.write(dir+"/z/beside", "x")
		moved := dir + strings.Repeat("/d", at)
		seen := map[string]int{}
		walk := treeWalk{file: func(in int, name string, _ *unix.Stat_t) error {
			seen[name]++
			if where, _ := os.Readlink(fmt.Sprint("/proc/self/fd/", in)); where == moved {
				return os.Rename(moved, w.root+"/elsewhere/moved")
			}
			return nil
		}}
		err := walk.walk(dir)
		if exists(w.root+"/elsewhere/moved") != "there" {
			t.Fatal("nothing was moved")
		}
		if seen["secret"] > 0 || seen["beside"] != 1 || seen["f"] != 2*keptOpen {
			t.Errorf("moved at %d, it saw %v, and says %v", at, seen, err)
		}
	}
}

// TestClosedDirectoriesAreMeasured, and closed afterwards as they were.
func TestClosedDirectoriesAreMeasured(t *testing.T) {
	w := newWorld(t)
	dir := w.root + "/tree"
	modes := map[string]os.FileMode{"none": 0, "listed": 0o400, "entered": 0o100, "both": 0o500}
	for name, mode := range modes {
		w.write(filepath.Join(dir, name, "in", "file"), strings.Repeat("x", 1<<20))
		w.must(os.Chmod(filepath.Join(dir, name, "in"), mode))
		w.must(os.Chmod(filepath.Join(dir, name), mode))
	}
	if got, ok := sizeOf(dir, nil); !ok || got < int64(len(modes))<<20 {
		t.Errorf("it has %d bytes, %t", got, ok)
	}
	for name, mode := range modes {
		info, err := os.Stat(filepath.Join(dir, name))
		w.must(err)
		if info.Mode().Perm() != mode {
			t.Errorf("%s has the permissions %o now", name, info.Mode().Perm())
		}
	}
	w.must(removeTree(dir, nil))
}
