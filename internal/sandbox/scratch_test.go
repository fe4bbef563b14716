//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dead makes the directory of a server that was killed: no process has its lock.
func (b *box) dead(name string) string {
	b.t.Helper()
	dir := filepath.Join(b.temp, scratchPrefix+name)
	b.write(dir+"/"+lockName, "")
	b.write(dir+"/1/tmp/file", "x")
	return dir
}

func TestTheNextServerRemovesWhatADeadOneHasLeft(t *testing.T) {
	w := newWorld(t)
	outside := w.root + "/outside"
	w.write(outside+"/kept", "x")
	gone := map[string]string{"an ordinary one": w.dead("ordinary")}

	closed := w.dead("closed")
	gone["one from whose directories a command took the rights"] = closed
	w.must(os.Chmod(closed+"/1/tmp", 0))
	w.must(os.Chmod(closed+"/1", 0))

	links := w.dead("links")
	gone["one in which links lead outside"] = links
	w.link(outside, links+"/1/tmp/directory")
	w.link(outside+"/kept", links+"/1/tmp/file-of-others")
	w.link("/", links+"/1/tmp/root")

	old, err := newScratch(w.temp) // a server that lives
	w.must(err)
	defer func() { w.must(old.close(nil)) }()
	kept := map[string]string{"the one of a living server": old.dir, "what links lead to": outside + "/kept"}

	unlocked := w.temp + "/" + scratchPrefix + "unlocked"
	w.write(unlocked+"/file", "x")
	kept["one that has no lock, and may be somebody else's"] = unlocked
	file := w.temp + "/" + scratchPrefix + "file"
	w.write(file, "x")
	kept["a file of such a name"] = file
	w.link(outside, w.temp+"/"+scratchPrefix+"link")
	w.write(outside+"/"+lockName, "")
	kept["what a link of such a name leads to"] = outside + "/" + lockName
	trap := w.temp + "/" + scratchPrefix + "trap"
	w.link(outside+"/kept", trap+"/"+lockName)
	kept["one whose lock is a link"] = trap

	removeDead(w.temp, nil)
	for says, path := range gone {
		if exists(path) == "there" {
			t.Errorf("%s is still there", says)
		}
	}
	for says, path := range kept {
		if exists(path) != "there" {
			t.Errorf("%s is gone", says)
		}
	}
}

func TestADirectoryForTemporaryFilesMayHaveAnyName(t *testing.T) {
	w := newWorld(t)
	w.temp = w.root + "/an [odd] *name? \\"
	w.mkdir(w.temp)
	dead := w.dead("server")
	s, err := newScratch(w.temp)
	w.must(err)
	if removeDead(w.temp, nil); exists(dead) == "there" {
		t.Error("what a dead server has left in it stays")
	}
	w.must(s.close(nil))
	if names := inside(t, w.temp); len(names) > 0 {
		t.Errorf("after the end there are %v", names)
	}
}

// TestTwoServersHaveTheirOwn: and the end of one takes nothing from the other.
func TestTwoServersHaveTheirOwn(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		one := newBox(t, tier)
		two := newBox(t, tier, func(b *box, o *Options) { b.temp, o.Temp = one.temp, one.temp })
		one.sh("echo one > $TMPDIR/mine")
		two.sh("echo two > $TMPDIR/mine")
		two.must(two.Close())
		if got := one.sh("cat $TMPDIR/mine").text; got != "one\n" {
			t.Errorf("read %q", got)
		}
	})
}

// TestNobodyElseEntersTheDirectory: other users live beside it in /tmp.
func TestNobodyElseEntersTheDirectory(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		b.sh("true")
		for _, dir := range []string{b.scratch.dir, b.sandboxOf("").dir, tempOf(b.sandboxOf("").dir)} {
			st, err := os.Stat(dir)
			b.must(err)
			if mode := st.Mode().Perm(); mode != 0o700 {
				t.Errorf("%s has the mode %o", dir, mode)
			}
		}
	})
}

func TestATemporaryDirectoryThatIsALinkIsFollowed(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier, func(b *box, o *Options) {
			o.Temp = b.root + "/link"
			b.link(b.temp, o.Temp)
		})
		if got := b.sh("echo x > $TMPDIR/x; cat $TMPDIR/x").text; got != "x\n" {
			t.Errorf("printed %q", got)
		}
		if !strings.HasPrefix(b.scratch.dir, b.temp+"/") {
			t.Errorf("it is %s", b.scratch.dir)
		}
	})
}

// TestAServerThatIsKilledIsDead: the lock goes with the process, although the
// processes that it makes commands with have the same descriptors.
func TestTheLockIsOfTheServerAlone(t *testing.T) {
	b := newBox(t, Landlock)
	r, err := b.start(Command{Dir: b.ws}, "read line; ls -l /proc/self/fd")
	b.must(err)
	if lock, err := lockFile(filepath.Join(b.scratch.dir, lockName), 0); err == nil {
		t.Error("somebody else got the lock", lock.Close())
	}
	if out, err := exec.Command("flock", "-n", filepath.Join(b.scratch.dir, lockName), "true").CombinedOutput(); err == nil {
		t.Errorf("another process got the lock: %s", out)
	}
	if got := r.wait().text; strings.Contains(got, lockName) {
		t.Errorf("a command has the lock: %s", got)
	}
}

// TestWhatIsNotRemovedAtTheEndIsRemovedByTheNextServer: Close has a second for it, and
// here none.
func TestWhatIsNotRemovedAtTheEndIsRemovedByTheNextServer(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		b.sh("mkdir -p $TMPDIR/a/b && echo x > $TMPDIR/a/b/file")
		b.stopRemoving()
		b.must(b.Close())
		if exists(b.scratch.dir) != "there" {
			t.Fatal("it is removed nevertheless: nothing is shown")
		}
		next := newBox(t, tier, func(n *box, o *Options) { n.temp, o.Temp = b.temp, b.temp })
		next.sh("true")
		next.work.Wait()
		if exists(b.scratch.dir) == "there" {
			t.Error("it is still there")
		}
	})
}
