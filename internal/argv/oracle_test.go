package argv_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tipstaff/internal/argv"
)

// shell is a real shell that tells how it splits a line. It only sees lines
// that Split accepted, and runs in a directory of its own, without globbing,
// unable to write a file, with a PATH that contains only a program that prints
// its arguments.
type shell struct {
	path     string
	settings string
	builtins string // names that it would not look up on the PATH
	printer  string // prints $0 and its arguments, NUL after each
	bin      string // the whole PATH
}

func shells(t testing.TB) []*shell {
	t.Helper()
	all := []*shell{
		{path: "dash", settings: "set -f; ulimit -f 0", builtins: " . : [ alias bg break cd chdir command continue echo eval exec exit export false fc fg getopts hash jobs kill local printf pwd read readonly return set shift test times trap true type ulimit umask unalias unset wait "},
		{path: "bash", settings: "set -f +B; ulimit -f 0", builtins: " . : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test time times trap true type typeset ulimit umask unalias unset wait "},
	}
	for _, s := range all {
		path, err := exec.LookPath(s.path)
		if err != nil {
			t.Skipf("no %s here", s.path)
		}
		dir := t.TempDir()
		s.path, s.bin, s.printer = path, filepath.Join(dir, "bin"), filepath.Join(dir, "printer")
		if err := os.Mkdir(s.bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.printer, []byte("#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// run returns the arguments that script prints.
func (s *shell) run(t testing.TB, script string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.path, "-c", s.settings+"\n"+script)
	cmd.Env = []string{"PATH=" + s.bin, "LC_ALL=C"}
	cmd.Dir = s.bin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %q: %v: %s", s.path, script, err, &stderr)
	}
	return strings.Split(strings.TrimSuffix(stdout.String(), "\x00"), "\x00")
}

// asArguments splits line by passing its words to a function.
func (s *shell) asArguments(t testing.TB, line string) []string {
	for trimmed := ""; trimmed != line; { // line ends before the first word would end "args"
		trimmed, line = line, strings.TrimPrefix(strings.TrimLeft(line, " \t\n"), "\\\n")
	}
	return s.run(t, `args() { for a do printf '%s\0' "$a"; done; }; args `+line)
}

// asCommand splits line by running it, with a program under its first word
// that prints what it is given.
func (s *shell) asCommand(t testing.TB, line, program string) []string {
	t.Helper()
	path := filepath.Join(s.bin, program)
	if err := os.Symlink(s.printer, path); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	return s.run(t, line)
}

// canRun reports whether the shell would look program up on its PATH. %1 is a
// job to bash, which knows of none here.
func (s *shell) canRun(program string) bool {
	return program != "" && program != "." && program != ".." && len(program) < 200 &&
		!strings.Contains(program, "/") && program[0] != '%' && !strings.Contains(s.builtins, " "+program+" ")
}

// comparable reports whether line uses none of the documented exceptions, and
// nothing that must never reach a shell, not even by mistake.
func comparable(line string) bool {
	if strings.ContainsAny(line, "~") || strings.Contains(line, "kill") {
		return false
	}
	if strings.Contains(line, "\r\n") { // a CR before a trimmed line end is trimmed with it
		return false
	}
	for i, c := range line { // positional and special parameters; backslash-newline may stand in between
		rest := strings.ReplaceAll(line[i:], "\\\n", "")
		if c == '$' && len(rest) > 1 && strings.IndexByte("0123456789$?!#@*-", rest[1]) >= 0 {
			return false
		}
	}
	return true
}

// agree checks the invariant for one line.
func agree(t testing.TB, all []*shell, line string) {
	t.Helper()
	words, err := argv.Split(line)
	if err != nil || !comparable(line) {
		return
	}
	for _, s := range all {
		if diff := cmp.Diff(words, s.asArguments(t, line)); diff != "" {
			t.Errorf("%s splits %q differently (-argv +shell):\n%s", s.path, line, diff)
		}
		if !s.canRun(words[0]) {
			continue
		}
		if diff := cmp.Diff(words, s.asCommand(t, line, words[0])); diff != "" {
			t.Errorf("%s runs %q differently (-argv +shell):\n%s", s.path, line, diff)
		}
	}
}

// TestA3AcceptedMeansTheSameToAShell: contract A3 and the invariant of policy.md.
func TestA3AcceptedMeansTheSameToAShell(t *testing.T) {
	all := shells(t)
	for _, c := range tokenCases(t) {
		if len(c.Command) < 100_000 { // the longest argument that a shell accepts
			agree(t, all, c.Command)
		}
	}
	for _, line := range []string{
		"x a\\\nb", "x \"a\\\nb\"", "x 'a\\\nb'", "x a\\\n#b", "x \\# ''#", "x a\\ b\\\tc", "x \"\\a\\$\\\\\"",
		"x [a] {b} !c ]] [[ if }", "x a=b 'c=d'", "\\if x", "i'f' x", "if'' x", "A\\=1 x", "1=2 x", "[x y", "x[ y", "\"a\"[x y",
		"x \x01\x7f \x80\x81\x88\xff", "x a\r\vb\f", " \n\t\n x y \n \t\n", "x y\\\n", "x $ a$ \"b$\" \"$'\" $. $/ $% $\\a",
		"time x y", "x é\u00a0日", "x '\n' \"\n\"", "\\\nx \\\n\\\ny",
	} {
		agree(t, all, line)
	}
}

// TestKeywordsAreBashs: every word that bash reserves is refused, but time.
func TestKeywordsAreBashs(t *testing.T) {
	bash := shells(t)[1]
	for word := range strings.FieldsSeq(strings.Join(bash.run(t, "compgen -k"), " ")) {
		_, err := argv.Split(word + " x")
		if word == "time" && err != nil {
			t.Errorf("time is a program, but: %v", err)
		}
		var syntax *argv.SyntaxError
		if word != "time" && (!errors.As(err, &syntax) || syntax.Found != word) {
			t.Errorf("%q is a keyword of bash, but Split says %v", word, err)
		}
	}
}
