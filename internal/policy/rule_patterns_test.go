package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

// withFiles is a world with some objects in /work/src, and programs.
func withFiles() *fakeWorld {
	w := allowing("rm", "git", "find")
	w.files = map[string]string{"/work/a.o": "", "/work/b.o": "", "/work/run.sh": ""}
	for i := range 7 {
		w.files[fmt.Sprintf("/work/src/%d.log", i)] = ""
	}
	return w
}

// TestA2WhatAShellWouldExpandIsRefused, with the texts that callers read.
func TestA2WhatAShellWouldExpandIsRefused(t *testing.T) {
	for _, c := range []struct{ says, line, want string }{
		{"names are told", "rm -f *.o", "INVALID_COMMAND_LINE: the pattern *.o at column 7 matches a.o, b.o, and no shell runs here that would put names in its place (GLOB) | Name the files. If the pattern is text for the program, put it in single quotes: '*.o'."},
		{"a few of many are told", "rm src/*", "INVALID_COMMAND_LINE: the pattern src/* at column 4 matches src/0.log, src/1.log, src/2.log, src/3.log, src/4.log and 2 more, and no shell"},
		{"the second pattern counts too", "rm *.c *.o", "INVALID_COMMAND_LINE: the pattern *.o at column 8 matches a.o, b.o"},
		{"what matches nothing is text", "rm *.c 'x'?", "allowed"},
		{"what is quoted is text", `rm '*.o' \*.o "?.o"`, "allowed"},
		{"find's own pattern", "find . -name *.o", "INVALID_COMMAND_LINE: the pattern *.o at column 14 matches"},
		{"an option with a pattern that matches nothing", "git log --glob=*.o", "allowed"},
		{"the program is judged first", "cat *.o", "COMMAND_NOT_ALLOWED"},
		{"a program's name", "./run* x", `COMMAND_NOT_ALLOWED: Command "./run*" is not allowed`},
		{"braces", "rm {a,b}.o", "INVALID_COMMAND_LINE: cannot split the command: the brace expansion {a,b}.o at column 4 (BRACES) | No shell runs here, so braces are not expanded. Write every word out, or put it in single quotes if it is meant as text."},
		{"a sequence", "rm {1..3}", "INVALID_COMMAND_LINE: cannot split the command: the brace expansion {1..3} at column 4 (BRACES)"},
		{"a home directory", "rm -rf ~/x", "INVALID_COMMAND_LINE: cannot split the command: the home directory ~/x at column 8 (TILDE) | No shell runs here, so ~ is not a directory. Write the path itself. If it is meant as text, put it in single quotes: '…'."},
		{"what git writes with braces and ~", "git show HEAD@{1} stash@{0} HEAD~2 --format={x}", "allowed"},
		{"find's {}", "find . -name '*.o' -exec rm {} +", "allowed"},
	} {
		t.Run(c.says, func(t *testing.T) {
			w := withFiles()
			d := decide(t, w, execute(c.line))
			if got := answer(d); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if d.Effect == policy.Allow {
				words, _ := cmdline.Split(c.line)
				if g, _ := d.Grant(); !cmp.Equal(g.Argv(), words) {
					t.Errorf("%q", g.Argv())
				}
			}
		})
	}
}

// TestA2APatternThatCannotBeComparedIsRefused, with the reason.
func TestA2APatternThatCannotBeComparedIsRefused(t *testing.T) {
	for want, err := range map[string]error{
		"it leads out of the command's directory, or to what commands may not see, where nothing is looked up": policy.ErrOutside,
		"there are too many to compare all with it":                                                            policy.ErrTooManyFiles,
		"the directory cannot be listed":                                                                       policy.ErrNotListed,
	} {
		w := withFiles()
		w.listFault = err
		want = "INVALID_COMMAND_LINE: the pattern ../*.c at column 4 may match files: " + want + " (GLOB) | Name the files."
		if got := answer(decide(t, w, execute("rm ../*.c"))); !strings.HasPrefix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	// A world that lists nothing answers nothing.
	d := policy.New(server()).Decide(execute("rm *.c"), struct{ policy.World }{withFiles()})
	if got := answer(d); !strings.Contains(got, "the directory cannot be listed (GLOB)") {
		t.Error(got)
	}
}

// TestA11WordsHaveNoPatterns: nothing is looked up for them, in either family.
func TestA11WordsHaveNoPatterns(t *testing.T) {
	w := withFiles()
	w.listFault = policy.ErrOutside
	words := []string{"rm", "*.o", "{a,b}", "~", "~/x", "{1..3}", "[ab].o"}
	for _, family := range []tipstaff.Family{tipstaff.Execute, tipstaff.Terminal} {
		d := decide(t, w, tipstaff.Request{Family: family, Argv: words})
		g, ok := d.Grant()
		if !ok {
			t.Fatal(answer(d))
		}
		if diff := cmp.Diff(words, g.Argv()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", family, diff)
		}
	}
}

// TestRefusalsNameTheShellWhereItIsOffered, and nowhere else.
func TestRefusalsNameTheShellWhereItIsOffered(t *testing.T) {
	for _, line := range []string{"rm *.o", "rm {a,b}", "rm ~", "ls | wc", "cd a && ls", "ls > x", "echo $HOME", "echo $(id)", "if true", "ls\nls"} {
		for _, shell := range []bool{true, false} {
			s := server()
			if shell {
				s.Shell = policy.ShellSetting{Mode: language.ShellRead, Set: true}
			}
			d := policy.New(s).Decide(execute(line), withFiles())
			if hint := d.Deciding().Hint; strings.Contains(hint, "execute_shell") != shell || shell && strings.Contains(hint, "bash") {
				t.Errorf("%q, shell %v: %s", line, shell, hint)
			}
		}
	}
}

// TestARefusedPatternTellsProgramsWhatItMatches.
func TestARefusedPatternTellsProgramsWhatItMatches(t *testing.T) {
	w := withFiles()
	f := policy.New(server()).Decide(execute("rm é *.o"), w)
	want := map[string]any{"kind": "GLOB", "column": 6, "found": "*.o", "matches": []string{"a.o", "b.o"}}
	if d := f.Deciding(); d.Rule != "command-line/GLOB" || !cmp.Equal(d.Details, want) {
		t.Errorf("rule %s, details %v", d.Rule, d.Details)
	}
	if w.closed.Load() != 101 {
		t.Errorf("closed %d: want the files and the directory, once each", w.closed.Load())
	}
}
