package scan_test

import (
	"fmt"
	"strings"
	"testing"

	"tipstaff/internal/command/scan"
)

// describe is what a plain script tells, one command a line: its words, its
// directories, what it opens.
func describe(t *testing.T, text string) string {
	t.Helper()
	s, err := scan.Parse(text)
	if err != nil {
		return "unread"
	}
	steps, err := s.Plain("/w")
	if err != nil {
		return "vague: " + strings.SplitN(err.Error(), ": ", 2)[1]
	}
	var out []string
	for _, st := range steps {
		line := strings.Join(st.Words, "|") + " in " + strings.Join(st.Dirs, ",")
		if st.Builtin {
			line = "(" + line + ")"
		}
		if len(st.Reads)+len(st.Writes) > 0 {
			line += fmt.Sprintf(" <%s >%s", strings.Join(st.Reads, ","), strings.Join(st.Writes, ","))
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func TestAPlainScriptTellsAllThatItDoes(t *testing.T) {
	for text, want := range map[string]string{
		"git status":                       "git|status in /w",
		"git 'a b' \"c\" | wc -l":          "git|a b|c in /w; wc|-l in /w",
		"cd sub && make; ls":               "(cd|sub in /w); make in /w/sub; ls in /w,/w/sub",
		"cd sub; ls":                       "(cd|sub in /w); ls in /w,/w/sub",
		"cd ..; cd a":                      "(cd|.. in /w); (cd|a in /w,/)",
		"ls > a 2>&1":                      "ls in /w < >/w/a",
		"wc < /etc/x":                      "wc in /w </etc/x >",
		"cd a && ls && wc || pwd; ls":      "(cd|a in /w); ls in /w/a; wc in /w/a; (pwd in /w,/w/a); ls in /w,/w/a",
		"ls | cd a; ls":                    "ls in /w; (cd|a in /w); ls in /w,/w/a",
		"ls >> b 2>/dev/null >&2 <c":       "ls in /w </w/c >/w/b,/dev/null",
		"# a note\nls\n":                   "ls in /w",
		"ls |\n  wc &&\n\nls":              "ls in /w; wc in /w; ls in /w",
		"cat <<'X' | wc\n'\nX":             "cat in /w; wc in /w",
		"cat <<'X' <<'Y'\nY\nX\nX\nY\nls":  "cat in /w; ls in /w",
		"printf '%s\\n' '$x'; printf %d 5": "(printf|%s\\n|$x in /w); (printf|%d|5 in /w)",
		"cat <<'X'\n$(rm)\nX":              "cat in /w",
		"command -v git":                   "(command|-v|git in /w)",
	} {
		if got := describe(t, text); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestWhatTheTextDoesNotTellIsNotPlain: every way that is known here to run, open
// or change something that the words of the script do not show.
func TestWhatTheTextDoesNotTellIsNotPlain(t *testing.T) {
	for _, text := range []string{
		"ls $x", "$x", "ls *.c", "ls a{1,2}", "ls ~", "ls $(pwd)", "ls `pwd`", "cat <<X\n$(rm)\nX", "cat <<< $x", "ls <(pwd)",
		"A=1", "A=1 ls", "PATH=/x ls", "export A=1", "declare x", "local x",
		"eval ls", ". a", "source a", "exec ls", "builtin ls", "command ls", "command -p ls", "trap ls EXIT", "alias ls=rm", "set -e", "shopt -s extglob",
		"hash -p /x ls", "enable -n echo", "mapfile -C ls x", "read x", "printf -v x a", "printf -- a", "let a=1", "wait", "kill 1", "umask 0",
		"test -v 'a[$(rm)]'", "[ -v a ]", "[ 'a[x]' -eq 1 ]", "[[ a == b ]]", "((1))", "f() { ls; }", "function f { ls; }; f",
		"for i in a; do ls; done", "while true; do ls; done", "case a in a) ls;; esac", "coproc ls", "time ls", "select x in a; do ls; done",
		"cd", "cd -", "cd -P a", "cd $x", "cd a b", "pushd a", "ls > $x", "ls 3> a", "ls <> a", "ls >&a", "ls {fd}> a", "exec 3<a",
		"ls &", "(ls)", "{ ls; }", "! ls", "cat <<X\ntext\nX", "if test -f a; then ls; fi", "[ -f a ]",
		// What Bash reads otherwise than the parser:
		"ls # note \\\nrm x", "# note \\\nrm x", "ls \"$\\\n(rm)\"", "cat <<'E'# ; rm\nx\nE", "cat <<'E'#; rm\nx\nE", "cat <<\"E\"#\nx\nE", "cat <<E\n$\\\n(rm)\nE", "ls # note",
		// What zsh reads otherwise than Bash:
		"{ echo } always { { rm } ; }", "echo x >! a", "echo x >!a", "echo x >>! a", "ls =rm", "ls x==rm", "ls ''=rm", "ls \"\"=rm", "ls x':'=rm", "ls 2>&1>a", "ls 2>&1<a", "repeat 2 rm", "noglob rm", "- rm", "foreach x", "ls 'a''b'", "< a", "> a", "cd +1", "cd -1",
		"test 'a[$(rm)]' -eq 1", "test PATH=d -eq 1", "test -t 'a[$(rm)]'", "printf %d 'a[$(rm)]'", "printf %d PATH=d", "printf '%*s' 'a[$(rm)]' x", "print x", "ls <1-5>x", "ls a<->", "ls >a>b", "ls >&!a", "ls &! rm", "ls &| rm",
		"cd a/../b", "ls > a/../b", "ls >&3", "ls >&2a", "ls 12>a", "ls >''", "ls;; rm", "ls ; ; rm", "&& ls", "ls &&", "ls\x01", "ls 'a\x01'", "ls \"!!\"", "cat <<'E'\nx", "cat <<'E F'\nE F",
		"=ls", "%1", "fg", "'' x", "a=b=c", "exit $x", "cd a; cd b; cd c; cd d; ls", "ls\r\n",
	} {
		if got := describe(t, text); got != "unread" && !strings.HasPrefix(got, "vague: ") {
			t.Errorf("%q is taken for plain: %s", text, got)
		}
	}
}
