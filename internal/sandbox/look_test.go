//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestARepositoryThatACommandMakesIsPinnedForLaterOnes(t *testing.T) {
	b := newBox(t, Namespaces)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	b.all([]try{{"git makes a repository", "mkdir sub && cd sub && git init -q && echo x > .git/hooks/now && echo made", "=made"}})
	b.later()
	b.all([]try{
		{"its hooks are as they are from then on", "echo x > sub/.git/hooks/later", "Read-only file system"},
		{"so is its configuration", "cd sub; git config a.b c", "Device or resource busy"},
		{"nothing takes their place", "mv sub other", "busy"},
		{"work goes on", "cd sub && echo x > file && git add file && git -c user.name=x -c user.email=x@y commit -qm x && git log --oneline | wc -l", "=1"},
	})
}

func TestASecretThatAppearsIsHiddenFromLaterCommands(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier, func(b *box, o *Options) {
			if tier == Namespaces { // or the home would be out of sight
				b.ws, o.Directory = b.root, b.root
			}
		})
		read := not("cat " + b.home + "/.netrc " + b.home + "/.ssh/key")
		b.write(b.home+"/.netrc", "password\n")
		b.write(b.home+"/.ssh/key", "secret\n")
		b.later()
		b.all([]try{
			{"files and directories", read, "=refused"},
			{"the rest of the home is there", "ls -A " + b.home, ".ssh"},
		})
		b.write(b.home+"/.ssh/other", "another\n")
		b.must(os.Remove(b.home + "/.netrc"))
		b.write(b.home+"/.netrc", "a new password\n") // another file than the one that was covered
		b.later()
		b.all([]try{
			{"what replaces a secret is one", read, "=refused"},
			{"what is added to one as well", not("cat " + b.home + "/.ssh/other"), "=refused"},
		})
	})
}

// TestASecretThatReplacesAnotherIsHiddenWhateverItsNumber: what covered the first
// one went with it, and file systems give numbers again.
func TestASecretThatReplacesAnotherIsHiddenWhateverItsNumber(t *testing.T) {
	b := newBox(t, Namespaces, func(b *box, o *Options) { b.ws, o.Directory = b.root, b.root })
	secret := b.home + "/.netrc"
	b.write(secret, "password\n")
	b.later()
	first, err := os.Lstat(secret)
	b.must(err)
	for range 200 {
		b.must(os.Remove(secret))
		b.write(secret, "another\n")
		if is, err := os.Lstat(secret); err == nil && os.SameFile(is, first) {
			if b.room("").walls.paths.Fresh() {
				t.Error("nobody noticed")
			}
			b.later()
			b.all([]try{{"the new one", not("grep . " + secret), "=refused"}})
			return
		}
	}
	t.Skip("this file system does not give numbers again so soon")
}

// TestWhatLiesBesideASecretIsReadableAgain: with Landlock, what is made on the way
// to something hidden has no rule yet.
func TestWhatLiesBesideASecretIsReadableAgain(t *testing.T) {
	b := newBox(t, Landlock, func(b *box, _ *Options) { b.write(b.home+"/.ssh/key", "secret\n") })
	b.write(b.home+"/new", "public\n")
	b.later()
	b.all([]try{{"a file that somebody has made", "cat " + b.home + "/new", "=public"}})
}

func TestWhereNothingChangesTheWallsStay(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		b.sh("echo x > file; mkdir dir")
		r := b.room("")
		before := r.walls
		b.later()
		if r.walls != before && before.allowed.Fresh() { // nobody else has made files beside what is hidden
			t.Error("they were made anew for nothing")
		}
		before = r.walls
		if time.Since(r.looked) > patience {
			t.Error("nobody has looked")
		}
		r.walls.places.Store(mostPlaces + 1)
		b.later()
		if r.walls == before {
			t.Error("with a rule for every /proc that ever was they stay")
		}
	})
}

func TestACommandThatRunsKeepsTheWallsThatItHas(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		before := holdings(t, ofRooms)
		r, err := b.start(Command{Dir: b.ws}, "read line; echo x > $TMPDIR/x; cat $TMPDIR/x; cat /proc/self/comm; sh -c 'echo y'")
		b.must(err)
		b.room("").walls.places.Store(mostPlaces + 1)
		b.room("").lookNow()
		if b.room("").walls == r.held.walls {
			t.Error("the walls are the old ones")
		}
		if got := r.wait().text; got != "x\ncat\ny\n" {
			t.Errorf("it printed %q", got)
		}
		b.work.Wait()
		before.compare(t)
	})
}

// lookNow looks although somebody is in the room.
func (r *room) lookNow() {
	r.mu.Lock()
	r.looking = true
	r.users++
	r.mu.Unlock()
	r.look()
}

func TestWallsThatCannotBeMadeAnewStayAsTheyWere(t *testing.T) {
	b := newBox(t, Namespaces, func(b *box, o *Options) { b.ws, o.Directory = b.root, b.root })
	b.must(os.Rename(b.scratch.empty, b.scratch.empty+".away"))
	b.write(b.home+"/.netrc", "password\n") // is to be covered by a file that is gone
	b.later()
	b.all([]try{{"commands run", "echo x > x; cat x", "=x"}})
	b.must(os.Rename(b.scratch.empty+".away", b.scratch.empty))
	b.later()
	b.all([]try{{"and are up to date as soon as that is possible", not("grep . " + b.home + "/.netrc"), "=refused"}})
}

// TestTheClockAloneMakesTheSandboxLook does not tell it that time has passed.
func TestTheClockAloneMakesTheSandboxLook(t *testing.T) {
	t.Parallel()
	b := newBox(t, Landlock)
	b.write(b.home+"/.netrc", "password\n")
	for began := time.Now(); time.Since(began) < patience; time.Sleep(100 * time.Millisecond) {
		if got := b.sh("cat " + b.home + "/.netrc").text; strings.Contains(got, "denied") {
			return
		}
	}
	t.Errorf("after %v a secret is not hidden yet", patience)
}
