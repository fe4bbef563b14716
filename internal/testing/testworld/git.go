package testworld

import (
	"os"
	"os/exec"
	"testing"
)

// GitEnvironment returns the environment of a person who works with git: an
// author's name, and no configuration but that of home.
func GitEnvironment(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
}

// NeedGit skips a test on a machine without git.
func NeedGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

// TryGit runs git in a directory, for a person whose home is Root/home. It
// returns what git prints.
func (w *Tree) TryGit(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(w.Context(), "git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir, cmd.Env = w.At(dir), GitEnvironment(w.At("home"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Git is TryGit for what has to succeed. It skips the test if there is no git.
func (w *Tree) Git(dir string, args ...string) string {
	w.Helper()
	NeedGit(w)
	out, err := w.TryGit(dir, args...)
	if err != nil {
		w.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

// Repository makes a repository with one commit of one file.
func (w *Tree) Repository(dir string) {
	w.Helper()
	w.Mkdir(dir)
	w.Git(dir, "init", "-q")
	w.Write(dir+"/file", "text\n")
	w.Git(dir, "add", "file")
	w.Git(dir, "commit", "-q", "-m", "first")
}
