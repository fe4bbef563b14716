//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/proc"
)

// gitBox is a sandbox around a repository with a commit and a work tree, which
// were there before.
func gitBox(t *testing.T) *box {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	b := newWorld(t)
	cmd := exec.Command("sh", "-c", "git init -q -b main && git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x && git worktree add -q old && git init -q --bare bare")
	cmd.Dir = b.ws
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return b.confine(Namespaces)
}

// direct runs a program as it is, without a shell, in the workspace.
func (b *box) direct(argv ...string) outcome {
	b.t.Helper()
	program, err := exec.LookPath(argv[0])
	b.must(err)
	program, err = filepath.EvalSymlinks(program)
	b.must(err)
	held, err := b.Confine(Command{Dir: b.ws, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + b.home}, Program: program, Argv: argv})
	b.must(err)
	r := &running{held: held}
	if err := r.launchProgram(b.o.Engine, b.ws, proc.Launch{Path: program, Argv: argv}); err != nil {
		held.Release()
		b.t.Fatal(err)
	}
	return r.wait()
}

// TestWhatCommandsMadeCommandsCanRemove: pins make it busy for everybody but those
// that do nothing else.
func TestWhatCommandsMadeCommandsCanRemove(t *testing.T) {
	for says, c := range map[string]struct {
		makes  string
		argv   []string
		gone   string
		before [][]string // commands in between
	}{
		"a clone":                    {"git clone -q . sub/clone", []string{"rm", "-rf", "sub/clone"}, "sub/clone", nil},
		"with what is around it":     {"git clone -q . sub/clone", []string{"rm", "-r", "-f", "--", "sub/"}, "sub", nil},
		"only the repository":        {"git init -q sub", []string{"rm", "-rf", "sub/.git"}, "sub/.git", nil},
		"a bare one":                 {"git init -q --bare sub", []string{"rm", "-rf", "sub"}, "sub", nil},
		"one with submodules":        {"git init -q sub && cd sub && git -c protocol.file.allow=always submodule --quiet add $PWD/.. mod", []string{"rm", "-rf", "sub"}, "sub", nil},
		"a work tree":                {"git worktree add -q tree", []string{"git", "worktree", "remove", "tree"}, "tree", nil},
		"a work tree by its name":    {"git worktree add -q deep/er/tree", []string{"git", "worktree", "remove", "--force", "er/tree"}, "deep/er/tree", nil},
		"a work tree from elsewhere": {"git worktree add -q tree", []string{"git", "-C", "bare/..", "worktree", "remove", "../ws/tree"}, "tree", nil},
		"what git knows of a tree":   {"git worktree add -q tree", []string{"git", "worktree", "prune"}, ".git/worktrees/tree", [][]string{{"rm", "-rf", "tree"}}},
	} {
		t.Run(says, func(t *testing.T) {
			b := gitBox(t)
			before := holdings(t, ofRooms)
			if o := b.sh(c.makes); o.ExitCode != 0 {
				t.Fatal(o.text)
			}
			for _, argv := range c.before {
				b.direct(argv...)
			}
			b.later()
			if o := b.sh("rm -rf " + c.gone); o.ExitCode == 0 || !strings.Contains(o.text, "busy") {
				t.Errorf("in a shell, where others could run as well: %d, %q", o.ExitCode, o.text)
			}
			if c.before == nil { // what is left of it is no repository
				b.must(os.RemoveAll(b.ws + "/" + c.gone))
				b.must(exec.Command("git", "-C", b.ws, "worktree", "prune").Run())
				if o := b.sh(c.makes); o.ExitCode != 0 {
					t.Fatal(o.text)
				}
				b.later()
			}
			if o := b.direct(c.argv...); o.ExitCode != 0 {
				t.Errorf("%q: %d, %q", c.argv, o.ExitCode, o.text)
			}
			if exists(b.ws+"/"+c.gone) == "there" {
				t.Errorf("%s is still there", c.gone)
			}
			if o := b.sh(c.makes + " && echo again"); !strings.HasSuffix(o.text, "again\n") {
				t.Errorf("to make it again: %q", o.text)
			}
			b.work.Wait()
			before.compare(t)
		})
	}
}

// TestWhatWasThereBeforeStaysWhateverIsCalled: it is a person's.
func TestWhatWasThereBeforeStaysWhateverIsCalled(t *testing.T) {
	b := gitBox(t)
	b.sh("git worktree add -q tree; git init -q sub")
	for _, argv := range [][]string{
		{"rm", "-rf", "old"},
		{"rm", "-rf", "bare"},
		{"rm", "-rf", ".git/hooks"},
		{"rm", "-rf", ".git/worktrees/old"},
		{"git", "worktree", "remove", "--force", "old"},
		{"git", "config", "a.b", "c"},
		{"git", "-c", "a.b=c", "worktree", "remove", "tree"},
		{"mv", "sub", "other"},
		{"mv", "sub/.git", "other"},
		{"sh", "-c", "rm -rf sub"},
		{"env", "rm", "-rf", "sub"},
	} {
		if o := b.direct(argv...); o.ExitCode == 0 {
			t.Errorf("%q went well: %q", argv, o.text)
		}
	}
	for _, path := range []string{"old/.git", "bare/hooks", ".git/hooks", ".git/worktrees/old/gitdir", "tree/.git", "sub/.git/hooks"} {
		if got := exists(b.ws + "/" + path); got != "there" {
			t.Error(got)
		}
	}
}

// TestAProgramOfTheWorkspaceLiftsNothingByItsName: whoever can write it could make
// it do more than remove.
func TestAProgramOfTheWorkspaceLiftsNothingByItsName(t *testing.T) {
	b := gitBox(t)
	b.sh("git init -q sub")
	for program, argv := range map[string][]string{b.ws + "/rm": {"rm", "-rf", "sub"}, "/bin/sh": {"rm", "-rf", "sub"}, "rm": {"rm", "-rf", "sub"}, "": {"rm", "-rf", "sub"}} {
		held, err := b.Confine(Command{Dir: b.ws, Program: program, Argv: argv})
		b.must(err)
		if held.walls != b.room("").standing() {
			t.Errorf("%s as %q has walls of its own", program, argv)
		}
		held.Release()
	}
}

// TestOthersFindThePinsWhileSomebodyRemovesARepository: its walls are its own.
func TestOthersFindThePinsWhileSomebodyRemovesARepository(t *testing.T) {
	b := gitBox(t)
	b.sh("git init -q sub")
	rm, err := exec.LookPath("rm")
	b.must(err)
	rm, err = filepath.EvalSymlinks(rm)
	b.must(err)
	held, err := b.Confine(Command{Dir: b.ws, Program: rm, Argv: []string{"rm", "-rf", "sub"}})
	b.must(err)
	defer held.Release()
	if held.walls == b.room("").standing() {
		t.Error("it has the walls of others")
	}
	b.all([]try{{"the hooks", "echo x > sub/.git/hooks/x", "Read-only file system"}})
}

// TestARepositoryWithoutAHeadIsPinnedAsItWas: to take HEAD away, wait, make hooks
// and put it back would be a way around the pins; for a new session as well.
func TestARepositoryWithoutAHeadIsPinnedAsItWas(t *testing.T) {
	b := gitBox(t)
	b.sh("git init -q sub; git init -q --bare later")
	for _, repository := range []string{".git", "bare", "sub/.git", "later"} {
		b.sh("cd " + repository + " && mv HEAD objects refs $TMPDIR/")
		b.later()
		for _, session := range []string{"", repository} {
			for _, script := range []string{"echo x > " + repository + "/hooks/post-commit", "echo x >> " + repository + "/config"} {
				if o := b.in(session, script); !strings.Contains(o.text, "Read-only file system") {
					t.Errorf("%s in session %q: %q", script, session, o.text)
				}
			}
		}
		b.sh("cd $TMPDIR && mv HEAD objects refs " + b.ws + "/" + repository)
	}
}

func TestWhoMeetsAPinIsToldHowTheRepositoryIsRemoved(t *testing.T) {
	b := gitBox(t)
	b.sh("git worktree add -q tree; git init -q sub")
	for _, c := range []struct{ path, want string }{
		{"sub", "rm, or git worktree remove, removes it when it is called directly"},
		{"tree", "rm, or git worktree remove, removes it when it is called directly"},
		{"old", "removed or moved by a person, outside"},
		{".git", "removed or moved by a person, outside"},
	} {
		o := b.direct("mv", c.path, "other")
		if len(o.Refusals) != 1 || !strings.Contains(o.Refusals[0], "keeps "+b.ws+"/"+c.path+" as it is") || !strings.Contains(o.Refusals[0], c.want) {
			t.Errorf("%s: %q is explained by %q", c.path, o.text, o.Refusals)
		}
	}
	if o := b.direct("git", "config", "a.b", "c"); len(o.Refusals) != 1 {
		t.Errorf("%q is explained by %q", o.text, o.Refusals)
	}
}
