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
		"git status":                          "git|status in /w",
		"git 'a b' \"c\" | wc -l":             "git|a b|c in /w; wc|-l in /w",
		"cd sub && make; ls":                  "(cd|sub in /w); make in /w/sub; ls in /w,/w/sub",
		"cd sub; ls":                          "(cd|sub in /w); ls in /w,/w/sub",
		"(cd sub; ls); pwd":                   "(cd|sub in /w); ls in /w,/w/sub; (pwd in /w)",
		"cd ..; cd a":                         "(cd|.. in /w); (cd|a in /w,/)",
		"! cd a && ls":                        "(cd|a in /w); ls in /w,/w/a",
		"ls > a 2>&1":                         "ls in /w < >/w/a",
		"wc < /etc/x":                         "wc in /w </etc/x >",
		"{ ls; pwd; } >> b":                   "(: in /w) < >/w/b; ls in /w; (pwd in /w)",
		"cat <<X\ntext\nX":                    "cat in /w",
		"cat <<'X'\n$(rm)\nX":                 "cat in /w",
		"if test -f a; then ls; else pwd; fi": "(test|-f|a in /w); ls in /w; (pwd in /w)",
		"command -v git":                      "(command|-v|git in /w)",
		"ls &":                                "ls in /w",
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
		"=ls", "ls =rm", "%1", "fg", "'' x", "a=b=c", "exit $x", "cd a; cd b; cd c; cd d; ls", "ls\r\n",
	} {
		if got := describe(t, text); got != "unread" && !strings.HasPrefix(got, "vague: ") {
			t.Errorf("%q is taken for plain: %s", text, got)
		}
	}
}
