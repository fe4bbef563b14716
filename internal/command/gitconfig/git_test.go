package gitconfig_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"tipstaff/internal/command/gitconfig"
	"tipstaff/internal/testing/testworld"
)

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
	cmd.Env = testworld.GitEnvironment("/nonexistent")
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

// person works with real git in a directory.
type person struct {
	*testworld.Tree

	env []string
}

func newPerson(t *testing.T, global string) *person {
	t.Helper()
	p := &person{Tree: testworld.New(t)}
	p.env = testworld.GitEnvironment(p.At("home"))
	p.Write("home/.gitconfig", "[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[core]\n\tpager = cat\n"+global)
	return p
}

// try runs a line of a shell in a directory and gives what it printed.
func (p *person) try(dir, line string) (string, error) {
	cmd := exec.CommandContext(p.Context(), "sh", "-ec", line)
	cmd.Dir, cmd.Env = p.At(dir), p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *person) run(dir, line string) string {
	p.Helper()
	out, err := p.try(dir, line)
	if err != nil {
		p.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}
