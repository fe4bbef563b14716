package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tipstaff"
	"tipstaff/internal/policy"
)

func TestA2ACommandLineBecomesWords(t *testing.T) {
	d := decide(t, allowing("git"), execute(`git commit -m 'fix: a && b; $c' --author="A B <a@b.test>"`))
	grant, ok := d.Grant()
	if !ok {
		t.Fatal(answer(d))
	}
	want := []string{"git", "commit", "-m", "fix: a && b; $c", "--author=A B <a@b.test>"}
	if diff := cmp.Diff(want, grant.Argv()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestA11WordsReachTheProgramByteForByte: what came as words is never split.
func TestA11WordsReachTheProgramByteForByte(t *testing.T) {
	words := []string{"echo", "", " a  b ", "$(x)", "`y`", "a;b", "\n", "\x7f", "'\"\\", "日本"}
	d := decide(t, allowing("echo"), tipstaff.Request{Family: tipstaff.Execute, Argv: words})
	grant, ok := d.Grant()
	if !ok {
		t.Fatal(answer(d))
	}
	if diff := cmp.Diff(words, grant.Argv()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestA3ARefusedCommandLineTeaches(t *testing.T) {
	for _, c := range []struct{ says, line, want string }{
		{"cd is a parameter", "cd src && make", "INVALID_COMMAND_LINE: cannot split the command: the shell operator && at column 8 (OPERATOR) | To run in another directory, leave cd out and give the directory as cwd. Make one call per command."},
		{"a variable", "echo $HOME", "INVALID_COMMAND_LINE: cannot split the command: the variable expansion $HOME at column 6 (EXPANSION) | No shell runs here, so variables are not expanded. Write the value itself."},
		{"nothing at all", " ", "INVALID_COMMAND_LINE: cannot split the command: there is no word in it (EMPTY) | Give a program and its arguments"},
		{"a line of five megabytes", "echo " + strings.Repeat("x", 5<<20), "INVALID_COMMAND_LINE: the command has 5242885 bytes, more than the 4194304 that can be split (TOO_LONG) | Give long text"},
	} {
		t.Run(c.says, func(t *testing.T) {
			d := decide(t, allowing("cd", "echo", "make"), execute(c.line))
			if got := answer(d); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestARefusedCommandLineNamesItsKindForPrograms(t *testing.T) {
	d := decide(t, allowing("ls"), execute("ls | wc"))
	f := d.Deciding()
	want := map[string]any{"kind": "OPERATOR", "column": 4, "found": "|"}
	if f.Rule != "command-line/OPERATOR" || !cmp.Equal(f.Details, want) {
		t.Errorf("rule %s, details %v", f.Rule, f.Details)
	}
	if d.Argv != nil {
		t.Errorf("it came to %q", d.Argv)
	}
	if _, ok := d.Grant(); ok || d.Effect != policy.Deny {
		t.Error("it may run")
	}
}
