package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// bashRuns is a directory of programs that note how they were called, and a Bash
// that finds no others.
type bashRuns struct {
	bash, programs string
}

func newBash(t testing.TB) *bashRuns {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatalf("these tests hold the package to bash: %v", err)
	}
	b := &bashRuns{bash: bash, programs: t.TempDir()}
	for name := 1; name <= 9; name++ {
		stub(t, filepath.Join(b.programs, fmt.Sprintf("p%d", name)), name > 6)
	}
	return b
}

// stub writes a program that notes its arguments in a file of its own.
func stub(t testing.TB, path string, fails bool) {
	t.Helper()
	exit := 0
	if fails {
		exit = 1
	}
	text := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\0' \"${0##*/}\" \"$@\" >\"$CALLS/$$\"\nexit %d\n", exit)
	testcmdtest.WriteProgram(t, path, text)
}

// run gives the calls that Bash makes for a script, each its words joined by
// NUL; false if it does not end.
func (b *bashRuns) run(t testing.TB, script string) ([]string, bool) {
	t.Helper()
	calls, _, ended := b.in(t, []string{b.bash, "--norc", "--noprofile", "-c"}, script)
	return calls, ended
}

// in runs a script in a shell, and also gives the files that it leaves.
func (b *bashRuns) in(t testing.TB, shell []string, script string) (out, left []string, ended bool) {
	t.Helper()
	calls, work := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(work, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	stub(t, filepath.Join(work, "p1"), false)
	stub(t, filepath.Join(work, "d", "p1"), false)
	before := filesBelow(t, work)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell[0], append(slices.Clone(shell[1:]), script)...)
	cmd.Dir, cmd.Env = work, []string{"PATH=" + b.programs, "CALLS=" + calls, "HOME=" + work, "LC_ALL=C"}
	cmd.ExtraFiles = []*os.File{w} // held by all that it starts
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	err = cmd.Wait()
	if ctx.Err() != nil {
		return nil, nil, false
	}
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return nil, nil, false
	}
	files, err := os.ReadDir(calls)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(calls, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSuffix(string(text), "\x00"))
	}
	for _, name := range filesBelow(t, work) {
		if !slices.Contains(before, name) {
			left = append(left, name)
		}
	}
	return out, left, true
}

// filesBelow lists a directory, with names that begin there.
func filesBelow(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(name, dir))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// compare runs a script in Bash and misses no command that was called certain.
// It gives how many there were.
func (b *bashRuns) compare(t testing.TB, script string) int {
	t.Helper()
	s, err := Parse(script)
	if err != nil {
		return 0
	}
	var want []string
	for _, c := range s.Analyze(ShellState{}).Commands {
		words, ok := c.Literal()
		if c.Certain && ok && !c.Opens && b.isStub(words[0]) {
			words[0] = filepath.Base(words[0])
			want = append(want, strings.Join(words, "\x00"))
		}
	}
	if len(want) == 0 {
		return 0
	}
	calls, ended := b.run(t, script)
	if !ended {
		return 0
	}
	for _, call := range want {
		i := slices.Index(calls, call)
		if i < 0 {
			t.Errorf("called certain, and Bash did not run it: %q\nscript:\n%s\nBash ran: %q", call, script, calls)
			continue
		}
		calls = slices.Delete(calls, i, i+1)
	}
	return len(want)
}

// isStub reports whether a name leads to a program that is there.
func (b *bashRuns) isStub(name string) bool {
	dir, base := filepath.Split(name)
	return len(base) == 2 && base[0] == 'p' && '1' <= base[1] && base[1] <= '9' && (dir == "" || filepath.Clean(dir) == b.programs) || name == "./p1"
}

// writer writes random scripts, chosen by bytes.
type writer struct {
	choice func(n int) int
	b      *bashRuns
	depth  int
}

func (g *writer) one(list ...string) string { return list[g.choice(len(list))] }

func (g *writer) name() string {
	p := fmt.Sprintf("p%d", 1+g.choice(9))
	switch g.choice(24) {
	case 0:
		return `"` + p[:1] + `"` + p[1:]
	case 1:
		return `\` + p
	case 2:
		return "$'" + p[:1] + `\x3` + p[1:] + "'"
	case 3:
		return "./p1"
	case 4:
		return g.b.programs + "/" + p
	case 5:
		return "command " + g.one("", "-- ", "-p ", "-v ", "command ", "builtin ") + p
	case 6:
		return "exec " + g.one("", "-a x ", "-c ") + p
	case 7:
		return "$x"
	case 8:
		return `"$x"/` + p
	case 9:
		return g.one("x=1 ", "PATH=/nowhere ", "IFS=1 ", "x=$((1/0)) ", "UID=1 ", "x=${nothing:?} ", "POSIXLY_CORRECT=1 ") + p
	case 10:
		return g.one("d/p1", "nothing", "f", "echo", "true", "cd", "exit", "return")
	}
	return p
}

func (g *writer) arg() string {
	switch g.choice(30) {
	case 0:
		return `"a b"`
	case 1:
		return `'c$d*'`
	case 2:
		return `$'t\tn\n\101\x41é\'q'`
	case 3:
		return `e\ f\*`
	case 4:
		return g.one("{a,b}", "{}", "{a}", `{a","b}`, "x{1..3}", "{a", "a}", `{a\,b}`, `{1".."2}`)
	case 5:
		return g.one("*", "[ab]", "[", "]", "a[", `["a"]`, "?", "~", "a=~", "a:~", "--x=~", "~x", `\~`, "p[1]")
	case 6:
		return g.one("$x", `"$x"`, "$1", "${x:-a}", "${x:=a}", "${x:?}", "${x#a}", "${x/a/b}", "${#x}", "${x:0:2}", "${x:1:-9}", "${!x}", "${x[1/0]}", "${UID:=3}", "${x^^}", "${PATH:=x}", "$$", "$?")
	case 7:
		return g.one("$((1+2))", "$((1/0))", "$((x))", "$((PATH=5))", "$((08))", "$(($#+1))")
	case 8:
		return `"` + g.sub() + `"`
	case 9:
		return g.sub()
	case 10:
		return `"q\"\\\$\a` + "`:`" + `"`
	case 11:
		return "\"two\nlines\""
	case 12:
		return "con\\\ntinued"
	case 13:
		return g.one(`""`, "''", "a''b", `$""`, "é", "#no", "a#b", "!", "a!b", "-n", "--", "=", "a=b", "%1", "^", "@", "a$", `"a$"`, "a,b", "..")
	}
	return g.one("a", "b", "c1", "-x", "--long=1", "u/v", "p1", "p2")
}

func (g *writer) sub() string {
	if g.depth > 4 {
		return "$x"
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.choice(8) {
	case 0:
		return "${x:-$(" + g.list(1) + ")}"
	case 1:
		return "`" + strings.ReplaceAll(g.simple(), "`", "") + "`"
	}
	return "$(" + g.list(1+g.choice(2)) + ")"
}

func (g *writer) simple() string {
	words := []string{g.name()}
	for range g.choice(4) {
		words = append(words, g.arg())
	}
	return strings.Join(words, " ") + g.redirect()
}

func (g *writer) redirect() string {
	switch g.choice(40) {
	case 0:
		return " >out"
	case 1:
		return " </nonexistent"
	case 2:
		return " 2>&1"
	case 3:
		return " >/dev/null 2>&1"
	case 4:
		return " &>/dev/null"
	case 5:
		return " <<<" + g.arg()
	case 6:
		return " < <(" + g.simple() + ")"
	case 7:
		return " >&-"
	case 8:
		return " <<E\n" + g.arg() + "\nE\n:"
	case 9:
		return " >$((1/0))"
	case 10:
		return " 2>&1 >/nonexistent/x"
	case 11:
		return " >&- 2>&1"
	}
	return ""
}

// builtin writes what may change what follows.
func (g *writer) builtin() string {
	return g.one(
		"x=1", "x="+g.arg(), "PATH=/nowhere", "UID=1", "x[1]=2", "x[1/0]=2", "x=(a b)", "x+=1", "export x=1", "export PATH", "declare -i x=1/0", "declare -r x=1",
		"readonly x=1", "declare -n y=PATH", "y=/nowhere", "x=2", "unset x", "unset PATH", "unset -f p1", "read x </dev/null", "read PATH </dev/null", "read -r UID </dev/null",
		"cd d", "cd /", "cd /nonexistent", "pushd d", "cd -", "set -e", "set +e", "set -u", "set -eu", "set -o pipefail", "set -euo pipefail", "set -x", "set -n", "set -t", "set -k", "set -f", "set -C", "set -o posix", "set -- a b", "set -E",
		"shopt -s expand_aliases", "shopt -s nullglob", "shopt -s failglob", "shopt -s lastpipe", "alias p2=p3", "alias p1=exit", "unalias p1",
		"exit", "exit 3", "return", "break", "continue", "break 2", "shift", "shift x", "shift 9", "kill $$", "kill 0x", "wait", "jobs", "times",
		"eval p1 a", "eval 'exit 1'", `eval "$x"`, "eval 'p2(){ :; }'", ". /nonexistent", "source ./nonexistent", "exec 2>&1", "exec </nonexistent", "exec >/dev/null",
		"hash -p /bin/true p1", "hash -r", "enable -n echo", "trap 'p4 t' EXIT", "trap 'exit 9' ERR", "trap - EXIT", "trap 'exit 9' DEBUG", "trap",
		"printf x", "printf -v PATH x", "printf -v UID x", "mapfile -t x </dev/null", "mapfile UID </dev/null", "getopts a PATH", "getopts a x",
		"((x=1))", "((1/0))", "((PATH=1))", "((UID=1))", "let x=1", "let 1/0", "let PATH=1", "[[ -n $x ]]", "[[ 1/0 -eq 1 ]]", "[[ -v x[1/0] ]]", `[ "$x" = a ]`, "[ -v 'x[1/0]' ]", "test $x", "test -v x",
		":", "true", "false", "echo", "echo a", "pwd", "type p1", "command -v p1", "BASH_CMDS[p1]=/nowhere", "BASH_ALIASES[p1]=exit", "POSIXLY_CORRECT=1", "EXECIGNORE=*", "FUNCNEST=1", "x='a[$(exit)]'", "x=PATH=5", "((x))", "x=-v", "$x", "time", "!",
		"p1(){ :; }", "p2(){ p3 in; }", "exit(){ :; }", "command(){ :; }", "f(){ exit; }", "f", "function p5 { :; }", "command_not_found_handle(){ exit; }", "nothing", "declare -f", "local x=1", "coproc p1", "ulimit -n 40", "umask 077", "suspend", "fc", "logout", "bind", "complete -C p1 p2", "dirs", "disown", "builtin cd d", "command cd d", "builtin exit", "command exit", "command eval exit", "builtin eval 'p1(){ :; }'", "caller", "help >/dev/null",
	)
}

// stmt writes a statement.
func (g *writer) stmt() string {
	if g.depth > 4 {
		return g.simple()
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.choice(32) {
	case 0:
		return g.stmt() + " && " + g.stmt()
	case 1:
		return g.stmt() + " || " + g.stmt()
	case 2, 3:
		return g.stmt() + g.one(" | ", " |& ") + g.stmt()
	case 4:
		return "! " + g.simple()
	case 5:
		return "{ " + g.list(2) + "; }" + g.redirect()
	case 6:
		return "( " + g.list(2) + " )" + g.redirect()
	case 7:
		return "if " + g.list(1) + "; then " + g.list(1) + "; elif " + g.simple() + "; then " + g.list(1) + "; else " + g.list(1) + "; fi" + g.redirect()
	case 8:
		return "while " + g.list(2) + "; p9; do " + g.list(2) + "; done" + g.redirect()
	case 9:
		return "until " + g.list(1) + "; p1; do " + g.list(1) + "; done"
	case 10:
		return "for " + g.one("x", "x", "PATH", "UID") + " in " + g.arg() + " " + g.arg() + "; do " + g.list(2) + "; done" + g.redirect()
	case 11:
		return "for ((" + g.one("i=0;i<2;i++", "i=1/0;;", "UID=0;0;", "PATH=0;0;") + ")); do " + g.list(1) + "; done"
	case 12:
		return "case " + g.arg() + " in a) " + g.list(1) + ";; *) " + g.list(1) + ";; esac"
	case 13:
		return g.simple() + " &"
	case 14:
		return "{ " + g.list(2) + "; } &"
	case 15:
		return g.one("f", "p1", "p2", "exit", "g") + "() { " + g.list(2) + "; }"
	case 16:
		return "time " + g.simple()
	case 17:
		return "[[ -n " + g.sub() + " && " + g.arg() + " == " + g.sub() + " ]]"
	case 18, 19, 20, 21, 22:
		return g.builtin()
	case 23:
		return g.simple() + " <(" + g.list(1) + ")"
	}
	return g.simple()
}

func (g *writer) list(n int) string {
	var b strings.Builder
	for i := range n {
		st := g.stmt()
		b.WriteString(st)
		if i < n-1 {
			if strings.HasSuffix(st, "&") {
				b.WriteString(" ")
			} else {
				b.WriteString(g.one("; ", "\n"))
			}
		}
	}
	out := b.String()
	if strings.HasSuffix(out, "&") {
		out += "\n:"
	}
	return out
}

// script writes a script, at times with what the parser and Bash read differently: a
// line end behind a backslash anywhere, comments, and texts right behind the word of a
// here-document.
func (g *writer) script() string {
	out := g.list(1 + g.choice(6))
	for range g.choice(4) - 1 {
		out = g.insert(out, g.one("\\\n", "\\\n", "\\\n", " # c\n", " # c \\\n", "\n# c\\\n", " <<'E'# ; p1\nx\nE\n", " <<'E'#x\nx\nE\n", " <<E\n$\\\n(p1)\nE\n", "\"$\\\n(p1)\"", "$\\\n", "#"))
	}
	return out
}

func (g *writer) insert(text, more string) string {
	at := g.choice(len(text) + 1)
	return text[:at] + more + text[at:]
}

func TestLiteralWordsAreThoseOfBash(t *testing.T) {
	b := newBash(t)
	var script strings.Builder
	var want []string
	for i, c := range literalWords {
		if c[1] != "?" {
			fmt.Fprintf(&script, "p1 %d %s x\n", i, c[0])
			want = append(want, fmt.Sprintf("p1\x00%d\x00%s\x00x", i, c[1]))
		}
	}
	calls, ended := b.run(t, script.String())
	slices.Sort(calls)
	slices.Sort(want)
	if !ended || !slices.Equal(calls, want) {
		t.Errorf("bash gives\n%q\nwant\n%q", calls, want)
	}
}

func TestWhatIsCertainIsRunByBash(t *testing.T) {
	b := newBash(t)
	scripts := 100
	if testing.Short() {
		scripts = 30
	}
	if n, err := strconv.Atoi(os.Getenv("SCRIPTS")); err == nil {
		scripts = n // by hand
	}
	checked := 0
	for seed := range scripts {
		r := rand.New(rand.NewPCG(uint64(seed), 17))
		g := writer{choice: r.IntN, b: b}
		checked += b.compare(t, g.script())
	}
	if checked < scripts/10 {
		t.Errorf("only %d commands were certain in %d scripts", checked, scripts)
	}
}

// FuzzCertain lets the fuzzer write the scripts: only such scripts are given to
// bash as the generator can write.
func FuzzCertain(f *testing.F) {
	b := newBash(f)
	f.Add([]byte("a script is chosen by bytes"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := writer{b: b}
		g.choice = func(n int) int {
			if len(choices) == 0 {
				return n - 1
			}
			c := int(choices[0])
			choices = choices[1:]
			if n > 256 && len(choices) > 0 {
				c, choices = c<<8|int(choices[0]), choices[1:]
			}
			return c % n
		}
		if script := g.script(); len(script) < 1500 {
			b.compare(t, script)
		}
	})
}
