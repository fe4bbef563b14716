package cmdline_test

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

	"tipstaff/internal/command/cmdline"
)

// shell is a real shell that tells how it splits a line. It only sees lines
// that were accepted, and runs in a directory of its own with a few files,
// unable to write one, with a PATH that contains only a program that prints its
// arguments.
type shell struct {
	path     string
	settings string
	builtins string // names that it would not look up on the PATH
	printer  string // prints $0 and its arguments, NUL after each
	bin      string // the whole PATH
	dir      string // with files that patterns may match
}

func shells(t testing.TB) []*shell {
	t.Helper()
	all := []*shell{
		{path: "dash", settings: "ulimit -f 0", builtins: " . : [ alias bg break cd chdir command continue echo eval exec exit export false fc fg getopts hash jobs kill local printf pwd read readonly return set shift test times trap true type ulimit umask unalias unset wait "},
		{path: "bash", settings: "ulimit -f 0", builtins: " . : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test time times trap true type typeset ulimit umask unalias unset wait "},
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
		s.dir = t.TempDir()
		plant(t, s.dir)
		if err := os.WriteFile(s.printer, []byte("#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// plant makes files whose names are made of what the fuzz tests put together.
func plant(t testing.TB, dir string) {
	t.Helper()
	for _, name := range []string{
		"x", "xx", "x=", "1x", ".x", "x.", "é", "xé", "x1", "A=x", "a.o", "b.o", "%", "^", "-", "@", "x,x", "[x]", "x:x", "\\x", "if", "!", "s]", "[id]/p", "[[...slug]]/p",
		"d/x", "d/1", "d/.x", "d/d/x", ".d/x", "~x/x", "=/x",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// disk are the files of a directory, without bounds.
type disk struct{ dir string }

func (d disk) path(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return d.dir + "/" + path
}

func (d disk) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(d.path(dir))
	if err != nil {
		return nil, nil //nolint:nilerr // a shell finds nothing there
	}
	names := []string{".", ".."}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

func (d disk) CheckBounds() error { return nil }

func (d disk) Exists(path string) (bool, error) {
	_, err := os.Lstat(d.path(path))
	return err == nil, nil
}

// run returns the arguments that script prints.
func (s *shell) run(t testing.TB, script string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.path, "-c", s.settings+"\n"+script)
	cmd.Env = []string{"PATH=" + s.bin, "LC_ALL=C"}
	cmd.Dir = s.dir
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
	if strings.Contains(line, "kill") {
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

// accepted returns the words of a line, unless it is refused because of its form
// or because of files in a directory.
func accepted(t testing.TB, line, dir string) ([]string, bool) {
	t.Helper()
	l, err := cmdline.Read(line)
	if err != nil {
		return nil, false
	}
	for _, p := range l.Patterns {
		if l.Words[p.Index] != p.Text {
			t.Errorf("%q: the pattern %q is not the word %q", line, p.Text, l.Words[p.Index])
		}
		if found, err := p.Find(disk{dir}, 1); err != nil || len(found) > 0 {
			return nil, false
		}
	}
	return l.Words, true
}

// agree checks the invariant for one line.
func agree(t testing.TB, all []*shell, line string) {
	t.Helper()
	words, ok := accepted(t, line, all[0].dir)
	if !ok || !comparable(line) {
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
		_, err := cmdline.Split(word + " x")
		if word == "time" && err != nil {
			t.Errorf("time is a program, but: %v", err)
		}
		var syntax *cmdline.SyntaxError
		if word != "time" && (!errors.As(err, &syntax) || syntax.Found != word) {
			t.Errorf("%q is a keyword of bash, but Split says %v", word, err)
		}
	}
}

// TestA2WhatAShellExpandsIsRefused, and nothing of its kind that a shell leaves
// alone: every line is refused exactly if bash gives the program other words.
func TestA2WhatAShellExpandsIsRefused(t *testing.T) {
	bash := shells(t)[1]
	for _, line := range []string{
		// patterns
		"x *.o", "x *.c", "x ?.o", "x [ab].o", "x [!a].o", "x [a-b].o", "x [b-c].o", "x [c-z].o", "x [[:alpha:]].o", "x [[:digit:]].o", "x a[.]o",
		"x '*'.o", "x '*.o'", `x "*.o"`, `x \*.o`, `x a\.*`, "x [ab.o", "x []a].o", "x d/*", "x d/?", "x */x", "x */y", "x */", "x d/*/", "x */*/x", "x ./*.o", "x d//*",
		"x q/*", "x *q/x", "x .[x]", "x .[y]", "x [.]x", "x *x*x*", "x é*", "x ??", "x x[1]", "x x[2]", "x d[/]x", "x a[0]=1", "x xs[-1]", "x [x]", "x 'x'?", "x d/'x'*", "x *'/'x", `x \[x]`,
		"x --include=*.go", "x --glob=!*.py", "x HEAD^", "x *=x", "x A=*", "x https://h.test/a?b=1", "x a/b?c", "x 2*3", "x s/a*/b/", "x ^a.*b$", "x x.*", "[ -f x ]", "x [", "x ]", "x []", "x [!]", "x [^]",
		"x [a-]", "x [[.a.]].o", "x [id]/p", "x [id]/*", "x [[...slug]]/p", "x [[...slug]]", "x [[:alpha]", "x [[=x]x", "x [^b].o", "x [^ab].o", "? y", "*", "x* y",
		// braces
		"x {a,b}", "x {a}", "x {}", "x {} +", "x a{}", "x {a,b", "x a,b}", "x {1..3}", "x {01..10}", "x {a..e}", "x {a..e..2}", "x {3..1}", "x {1..3..0}", "x {-1..+2}", "x {1..a}", "x {1...3}", "x {1..}", "x {..}",
		"x a{b,c}d", "x {a,{b,c}}", "x {a,{b}", "x {a{b,c}", "x {a}b,c}", "x a{},b}", "x {},b}", "x {,}", "x {a,}", `x \{a,b}`, `x {a\,b}`, "x '{a,b}'", "x {'a,b'}", "x {'a',b}", `x {a","b}`, "x {1..x}a,b}", "x {1..x}{a,b}", "x {'1'..3}",
		"x HEAD@{1}", "x stash@{0}", "x @{u}..@{1}", "x @{u}..HEAD", "x --format={x}", "x --format={x},{y}", "x {{.Name}}", "x {{a}},{{b}}", "x {a:1,b:2}", "x {a:1}", "x :{x,y}", "x --include={a,b}", "x {1..2}{a..b}", "x {a..{1..3}}", "x a=b{c,d}",
		// home directories
		"x ~", "x ~/y", "x ~root", "x ~root/y", "x ~+", "x y~", "x a/~/b", "x '~'", `x \~/y`, "x ~'/'y", `x ~"root"`, "x ~=1.2", "x ~:y", "x ~root:y", "x ~a=:y", "x ~nobody-there", "x --a=~/y", "x a=~/y", "x a=b:~/y", "x a=b~/y", "x a+=~/y", "x a[1]=~/y", "x a-b=~/y",
		"x 'a=~/y'", "x a='~/y'", "x a=b=~/y", "x a:~/y", "x HEAD~1", "x HEAD~", "x ~1.2.3=", "~/x y", "x :~/y", "x a=~root:x", "x a=~,",
	} {
		words, ok := accepted(t, line, bash.dir)
		plain, err := cmdline.Split(line)
		if err != nil {
			t.Fatal(line, err)
		}
		shells := bash.asArguments(t, line)
		switch known, exception := unlike[line]; {
		case exception:
			if ok || !cmp.Equal(plain, shells) {
				t.Errorf("%q is no exception any more (%s)", line, known)
			}
		case ok != cmp.Equal(plain, shells):
			t.Errorf("%q: accepted: %v, and bash makes of it %q", line, ok, shells)
		case ok && !cmp.Equal(words, shells):
			t.Errorf("%q: %q, and bash makes of it %q", line, words, shells)
		}
	}
}

// unlike are lines that are refused although bash leaves them alone, with the
// reasons.
var unlike = map[string]string{
	"x [^ab].o":       "dash takes ^ for a character of the set",
	"x [[...slug]]":   "dash ends the set at the first ], so it takes s]",
	"x {a..{1..3}}":   "bash looks into no braces within a sequence that is none",
	"x ~nobody-there": "whether there is such a user is not asked",
}
