//go:build linux

package sandbox

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff"
)

// TestTemporaryFilesHaveABound for all commands of a session together, wherever they
// lie and whatever hides them; other sessions, and files elsewhere, are not affected.
func TestTemporaryFilesHaveABound(t *testing.T) {
	const fill = `head -c 40000000 /dev/zero > `
	hold := "; sleep 20"
	eachTier(t, func(t *testing.T, tier Tier) {
		t.Parallel()
		b := newBox(t, tier, func(_ *box, o *Options) { o.Limits.TemporaryBytes = 30_000_000 })
		b.attempt(Command{Dir: b.ws}, fill+"large && echo elsewhere; rm large", "elsewhere")
		for says, script := range map[string]string{
			"one file":                   fill + "$TMPDIR/file" + hold,
			"small ones":                 `i=0; while [ $i -lt 400 ]; do head -c 100000 /dev/zero > $TMPDIR/$i; i=$((i+1)); done` + hold,
			"a removed one that is open": "exec 3> $TMPDIR/file; rm $TMPDIR/file; head -c 40000000 /dev/zero >&3" + hold,
			"in a closed directory":      "mkdir $TMPDIR/shut; " + fill + "$TMPDIR/shut/file; chmod 0 $TMPDIR/shut" + hold,
		} {
			// Each in a session of its own, while another one works on.
			began := time.Now()
			other, err := b.start(Command{Session: "other", Dir: b.ws}, "read line; echo fine")
			b.must(err)
			o := b.in(says, script)
			if o.Cause != tipstaff.TemporaryLimit || len(o.Refusals) != 1 || !strings.Contains(o.Refusals[0], "30000000 bytes") || !strings.Contains(o.Refusals[0], "TIPSTAFF_LIMIT_TEMPORARY_BYTES") {
				t.Errorf("%s, after %v: %v, %q, %q", says, time.Since(began), o.Cause, o.Refusals, o.text)
			}
			if got := other.wait(); got.text != "fine\n" || got.Cause != tipstaff.Exited {
				t.Errorf("%s: another session: %v, %q", says, got.Cause, got.text)
			}
		}
		if o := b.in("one file", "ls $TMPDIR && rm $TMPDIR/file && echo gone"); !strings.Contains(o.text, "gone") {
			t.Errorf("what is too much cannot be removed: %v, %q", o.Cause, o.text)
		}
		if o := b.in("one file", "head -c 20000000 /dev/zero > $TMPDIR/file; sleep 0.3; echo fine"); o.text != "fine\n" {
			t.Errorf("afterwards: %v, %q", o.Cause, o.text)
		}
	})
}

func TestTheBoundOfTemporaryFilesIsThatOfTheDiskUnlessItIsSet(t *testing.T) {
	dir := t.TempDir()
	free, ok := freeOn(dir)
	if !ok {
		t.Fatal("the disk does not tell what is free")
	}
	if got := newTemporary(0, dir).bound; got > maxTemporary || got > free/temporaryPart+1<<30 || got <= 0 {
		t.Errorf("of %d free bytes %d", free, got)
	}
	if got := newTemporary(5, dir).bound; got != 5 {
		t.Errorf("set to 5 it is %d", got)
	}
	if got := newTemporary(0, dir+"/missing").bound; got != maxTemporary {
		t.Errorf("where nothing is known it is %d", got)
	}
}

// TestTheSizeOfADirectoryFollowsNoLinks, and counts a file with two names once.
func TestTheSizeOfADirectoryFollowsNoLinks(t *testing.T) {
	w := newWorld(t)
	w.write(w.root+"/outside", strings.Repeat("x", 1<<20))
	dir := w.root + "/counted"
	w.write(dir+"/a/file", strings.Repeat("x", 1<<20))
	w.must(os.Link(dir+"/a/file", dir+"/b"))
	w.link(w.root+"/outside", dir+"/link")
	w.link(w.root, dir+"/up")
	if got, ok := sizeOf(dir, nil); !ok || got < 1<<20 || got > 1<<20+1<<16 {
		t.Errorf("it is %d, %t", got, ok)
	}
}

// TestToMeasureTemporaryFilesLeavesNothingOnThem: the sandbox may serve another session
// all the same. The control is another reading.
func TestToMeasureTemporaryFilesLeavesNothingOnThem(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newWorldOutside(t).confine(tier)
		b.in("one", "true")
		sess := b.sandboxOf("one")
		same := func() bool {
			return !slices.ContainsFunc(sess.layers.stamps.list, func(s stamp) bool { return !s.same() })
		}
		if !same() {
			t.Fatal("it is not as it was made: nothing is shown")
		}
		b.temporaryBytes(sess, nil, nil)
		if !same() {
			t.Error("to measure has changed it")
		}
		if _, err := os.ReadDir(tempOf(sess.dir)); err != nil {
			t.Fatal(err)
		}
		if same() {
			t.Skip("this file system does not note when a directory is read")
		}
	})
}
