//go:build linux

package sandbox

import (
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestAFileThatLeadsGitElsewhereIsMovedAway: it cannot be forbidden, because it
// does not exist; a person's git must not find it all the same.
func TestAFileThatLeadsGitElsewhereIsMovedAway(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	var log strings.Builder
	b := newWorld(t)
	b.must(exec.Command("git", "init", "-q", b.ws).Run())
	b.must(exec.Command("git", "init", "-q", b.ws+"/odd").Run())
	b.write(b.ws+"/odd/.git/commondir", "../../.git\n") // somebody wanted it so, before
	b.confine(Namespaces, func(_ *box, o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, plant := range []string{"echo ../evil > .git/commondir", "ln -s ../evil .git/commondir", "mkdir .git/commondir"} {
		b.later()
		o := b.sh("test -d evil || git init -q evil; " + plant + "; ls -d .git/commondir")
		if !strings.HasSuffix(o.text, ".git/commondir\n") {
			t.Errorf("%s: %q", plant, o.text)
		}
		b.work.Wait()
		if exists(b.ws+"/.git/commondir") == "there" {
			b.sh("true") // the next command finds it at the latest
		}
		if exists(b.ws+"/.git/commondir") == "there" {
			t.Errorf("%s: it is still there", plant)
		}
		out, err := exec.Command("git", "-C", b.ws, "rev-parse", "--git-common-dir").Output()
		if err != nil || string(out) != ".git\n" {
			t.Errorf("%s: git finds %q, %v", plant, out, err)
		}
	}
	if got := exists(b.ws + "/odd/.git/commondir"); got != "there" {
		t.Errorf("what was there before: %s", got)
	}
	b.must(b.Close())
	if got := log.String(); strings.Count(got, "it was moved away") != 3 || strings.Count(got, "nobody should run git there") != 1 {
		t.Errorf("the log says %q", got)
	}
}

// TestHooksInARepositoryThatACommandHasMadeAreToldOf: until it is found, nothing
// keeps the command from making some.
func TestHooksInARepositoryThatACommandHasMadeAreToldOf(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	var log strings.Builder
	b := newBox(t, Namespaces, func(_ *box, o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	b.sh("git init -q sub && mkdir -p sub/.git/hooks && echo x > sub/.git/hooks/post-commit; git init -q harmless")
	for range 3 {
		b.later()
	}
	b.must(b.Close())
	if got := log.String(); strings.Count(got, "look at them before you run git there") != 1 || !strings.Contains(got, "sub/.git/hooks/post-commit") {
		t.Errorf("the log says %q", got)
	}
	if _, err := os.Stat(b.ws + "/sub/.git/hooks/post-commit"); err != nil {
		t.Error(err)
	}
}
