package gitconfig_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/command/gitconfig"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// gitEnv is what git gets in tests: no configuration but that of the test.
func gitEnv(home string, more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}, more...)
}

// git is the oracle: what the installed one reads.
type git struct {
	keepsTabs bool // since 2.45 blanks in values are kept
}

func newGit(t testing.TB) git {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatalf("these tests compare with git: %v", err)
	}
	list, ok := git{true}.list(t, "[a]\nb = c\td\n")
	if !ok {
		t.Fatal("git does not read a simple text")
	}
	return git{keepsTabs: strings.Contains(list, "\t")}
}

// list gives entries as git config prints them: key, line feed, value, NUL.
func (g git) list(t testing.TB, text string) (list string, ok bool) {
	t.Helper()
	cmd := exec.Command("git", "config", "--no-includes", "-f", "-", "-z", "--list")
	cmd.Env = gitEnv("/nonexistent")
	cmd.Dir = "/"
	cmd.Stdin = strings.NewReader(text)
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("git: %v", err)
	}
	return out.String(), err == nil
}

// ours gives entries in the same form.
func (g git) ours(entries []gitconfig.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Key())
		if !e.NoValue {
			b.WriteString("\n" + e.Value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// same compares, for an older git without the difference between a tab and a
// space, which the old one loses.
func (g git) same(theirs, ours string) bool {
	if !g.keepsTabs {
		theirs, ours = strings.ReplaceAll(theirs, "\t", " "), strings.ReplaceAll(ours, "\t", " ")
	}
	return theirs == ours
}

// world is a directory with a person's home, to run real git in.
type world struct {
	*testing.T
	dir string
	env []string
}

func newWorld(t *testing.T, global string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, dir, gitEnv(dir + "/home")}
	w.write("home/.gitconfig", "[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[core]\n\tpager = cat\n"+global)
	return w
}

func (w *world) at(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.at(name)), 0o700); err != nil {
		w.Fatal(err)
	}
	testcmdtest.WriteProgram(w, w.at(name), text)
}

func (w *world) read(name string) []byte {
	w.Helper()
	text, err := os.ReadFile(w.at(name))
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// try runs a line of a shell in a directory and gives what it printed.
func (w *world) try(dir, line string) (string, error) {
	cmd := exec.CommandContext(w.Context(), "sh", "-ec", line)
	cmd.Dir, cmd.Env = w.at(dir), w.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) run(dir, line string) string {
	w.Helper()
	out, err := w.try(dir, line)
	if err != nil {
		w.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}
