package scan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// describe writes the programs of a script: + if certain, - if not, ? for a word that
// is not known.
func describe(t *testing.T, script string, b ShellState) []string {
	t.Helper()
	s, err := Parse(script)
	if err != nil {
		t.Fatalf("%q: %v", script, err)
	}
	var out []string
	for _, c := range s.Analyze(b).Commands {
		if c.Kind == Builtin || c.Kind == Function {
			continue
		}
		sign := "-"
		if c.Certain {
			sign = "+"
		}
		if c.Certain == (c.Why != "") && c.Kind == Program {
			t.Errorf("%q: certain %v because %q", script, c.Certain, c.Why)
		}
		var words []string
		for _, w := range c.Words {
			if w.Known {
				words = append(words, w.Text)
			} else {
				words = append(words, "?")
			}
		}
		out = append(out, sign+strings.Join(words, " "))
	}
	return out
}

func TestWhatIsReached(t *testing.T) {
	for script, want := range map[string]string{
		"a; b\nc":                             "+a +b +c",
		"a && b; c":                           "+a -b +c",
		"a || b":                              "+a -b",
		"a | b | c":                           "+a +b +c",
		"! a":                                 "+a",
		"a & b":                               "+a +b",
		"if a; then b; elif c; then d; fi; e": "+a -b -c -d +e",
		"while a; b; do c; done; d":           "+a +b -c +d",
		"until a; do break; done; b":          "+a +b",
		"while a; do while break 2; b; do c; done; d; done; e": "+a -b -c -d +e",
		"for i in $(a); do b; done; c":                         "+a -b +c",
		"case $(a) in x) b;; esac; c":                          "+a -b +c",
		"{ a; b; }; (c; d)":                                    "+a +b +c +d",
		"(exit); a":                                            "+a",
		"exit | a; b":                                          "+a +b",
		"{ exit; }; a":                                         "-a",
		"false && exit; a":                                     "-a",
		"exec a; b":                                            "+a -b",
		"(exec a); b":                                          "+a +b",
		"return; a":                                            "-a",
		"set -e; a; b":                                         "+a -b",
		"set -e; x=1; a":                                       "+a",
		"set -euo pipefail; a; b":                              "+a -b",
		"set -o pipefail; a; b":                                "+a +b",
		"set -x; a; b":                                         "+a +b",
		"set -n; a":                                            "-a",
		"set -u; a $x; b":                                      "-a ? -b",
		"echo ${x:?}; a":                                       "-a",
		"echo $((1+2)); a":                                     "+a",
		"echo $((x)); a":                                       "-a",
		"a ${x:-$(b)} $(c)":                                    "-b +c +a ? ?",
		"a $(b; c) \"$(d)\" `e`":                               "+b +c +d +e +a ? ? ?",
		"a <(b; c)":                                            "+b -c +a ?",
		"{ echo x; a; } | b":                                   "-a +b",
		"{ a; b; } | c":                                        "+a -b +c",
		"b | { a; c; }":                                        "+b +a +c",
		"a > x; b":                                             "+a +b",
		"{ a; } > x; b":                                        "-a +b",
		"{ a; } > /dev/null 2>&1; b":                           "+a +b",
		"while read l; do a; done < x; b":                      "-a +b",
		"a <<E; b\n$(c)\nE":                                    "+c +a +b",
		"a <<E; b\n$(c\nE\n)\nE":                               "-c -E -a -b",
		"[[ -n $(a) && -n $(b) ]] && c; d":                     "+a -b -c +d",
		"trap 'a' EXIT; b":                                     "-a +b",
		"trap 'a' ERR; b":                                      "-a -b",
		"kill $!; a":                                           "-a",
		"(kill $$); a":                                         "-a",
		"kill -0 1; a":                                         "+a",
		"time a; b":                                            "+a +b",
		"a | time b":                                           "+a -b",
		"f() { a; } && b; c":                                   "-a -b +c",
		"ls !(x); a":                                           "-ls ? -a",
		"a\r\nb":                                               "-a -b",
		"source x; a":                                          "-a",
		"eval a b; c":                                          "-a b -c",
		"eval 'a; eval \"b\"'":                                 "-a -b",
		"$x; a":                                                "-? -a",
		"$x/a; b":                                              "-? -b",
		`"$x"/a; b`:                                            "-? +b",
		"shopt -s nullglob; a":                                 "+a",
		"shopt -s lastpipe; a":                                 "-a",
		"read -r x; a":                                         "+a",
		"read -r PATH; a; /bin/a":                              "-a +/bin/a",
		"coproc x { a; }; b":                                   "-a -b",
	} {
		if s, err := Parse(script); err != nil || s == nil {
			continue // what is refused has no commands
		}
		if got := strings.Join(describe(t, script, ShellState{}), " "); got != want {
			t.Errorf("%q:\n got %s\nwant %s", script, got, want)
		}
	}
}

func TestWhatANameMeans(t *testing.T) {
	for script, want := range map[string]string{
		"command a b; command -- a; command -p a": "+a b +a -a",
		"command -v a; builtin cd x; a":           "+a",
		"command command a":                       "+a",
		"command exec a; b":                       "+a -b",
		"exec -a x a":                             "-a",
		"exec -c a":                               "-a",
		`\a; "b"; 'c'; d""; $'\x65'`:              "+a +b +c +d +e",
		"a() { :; }; a; b":                        "-b",
		"b; a() { :; }; b":                        "+b +b",
		"a() { :; }; command a; b":                "+a +b",
		"(a() { :; }); a":                         "+a",
		"alias x=y; a; /bin/a":                    "-a +/bin/a",
		"PATH=/x; a; /bin/a":                      "-a +/bin/a",
		"PATH=/x a; b":                            "-a -b",
		"export PATH=/x:$PATH; a":                 "-a",
		"x=1 a":                                   "+a",
		"UID=1 a":                                 "-a",
		"for PATH in x; do :; done; a":            "-a",
		": ${PATH:=x}; a":                         "-a",
		"declare -n x=PATH; x=1; a":               "-a",
		"((x++)); a; /a":                          "-a +/a",
		"hash -p /x a; a":                         "-a",
		"enable -n echo; a":                       "-a",
		"cd x; a; ./a; /bin/a; d/a":               "+a -./a +/bin/a -d/a",
		"(cd x; ./a); ./a":                        "-./a +./a",
		"pushd x; ./a":                            "-./a",
		`"a=1" b; %1; ""`:                         "-a=1 b -%1 -",
		"command_not_found_handle() { :; }; a":    "-a",
		"/bin/a() { :; }; b":                      "-b",
		"BASH_CMDS[a]=/x; a":                      "-a",
		"BASH_ALIASES[a]=x; /bin/a":               "-/bin/a",
		"POSIXLY_CORRECT=1; a":                    "-a",
		"readonly x=1; x=2; a":                    "-a",
		"declare -r x; a":                         "+a",
	} {
		if _, err := Parse(script); err != nil {
			continue
		}
		if got := strings.Join(describe(t, script, ShellState{}), " "); got != want {
			t.Errorf("%q:\n got %s\nwant %s", script, got, want)
		}
	}
}

func TestEarlierScriptsCount(t *testing.T) {
	if got := describe(t, "a; b", ShellState{Functions: []string{"a"}}); !slices.Equal(got, []string{"-b"}) {
		t.Errorf("a function of the session: %q", got)
	}
	if got := describe(t, "/bin/a; command b", ShellState{Anything: true}); !slices.Equal(got, []string{"-/bin/a", "-b"}) {
		t.Errorf("anything: %q", got)
	}
}

// literalWords are words as they are written, and the argument that they give, ?
// where only the run knows it. TestLiteralWordsAreThoseOfBash asks bash.
var literalWords = [][2]string{
	{`a`, "a"}, {`a"b"'c'`, "abc"}, {`""`, ""}, {`a\ b`, "a b"}, {`\*`, "*"}, {`'*'`, "*"}, {`"*"`, "*"}, {`*`, "?"}, {`a?`, "?"},
	{`[a]`, "?"}, {`[`, "["}, {`]`, "]"}, {`a[`, "a["}, {`"["a]`, "[a]"}, {`["a"]`, "?"}, {`\[a]`, "[a]"},
	{`{a,b}`, "?"}, {`{}`, "{}"}, {`{a}`, "{a}"}, {`{1..3}`, "?"}, {`{a","b}`, "?"}, {`"{a,b}"`, "{a,b}"}, {`\{a,b}`, "{a,b}"}, {`a,b`, "a,b"}, {`x{a`, "x{a"},
	{`~`, "?"}, {`~/x`, "?"}, {`\~`, "~"}, {`a~`, "a~"}, {`a=~`, "?"}, {`a:~`, "?"}, {`"~"`, "~"}, {`x=1`, "x=1"},
	{`$x`, "?"}, {`"$x"`, "?"}, {`'$x'`, "$x"}, {`\$x`, "$x"}, {`"\$x"`, "$x"}, {`"a\b"`, `a\b`}, {`"a\\b"`, `a\b`}, {`"\""`, `"`}, {"\"\\`\"", "`"},
	{`"a$"`, "a$"}, {`$((1))`, "?"}, {`$(a)`, "?"}, {`<(a)`, "?"}, {"a\\\nb", "ab"}, {"\"a\\\nb\"", "ab"}, {"'a\\\nb'", "a\\\nb"}, {"\"a\\\\\nb\"", "a\\\nb"}, {"\"a\nb\"", "a\nb"},
	{`$'a\tb'`, "a\tb"}, {`$'\x41\101\u0041'`, "AAA"}, {`$'\''`, "'"}, {`$'\e\E\a\b\f\v\r\n\\\"\?'`, "\x1b\x1b\a\b\f\v\r\n\\\"?"}, {`$'\q'`, `\q`}, {`$'\x4g'`, "\x04g"}, {`$'\1234'`, "S4"}, {`$'\xff'`, "\xff"}, {`$'\777'`, "\xff"},
	{`$'a\0b'`, "?"}, {`$'\xe9\u00e9'`, "?"}, {`$'\cA'`, "?"}, {`$'\x'`, "?"}, {`$"a"`, "?"}, {`é`, "é"}, {`a#b`, "a#b"}, {`"#"`, "#"}, {`a!b`, "a!b"}, {`-n`, "-n"}, {`%1`, "%1"}, {`a^b`, "a^b"}, {`@`, "@"},
	{`$'\x41'"b"'c'd\e`, "Abcde"},
}

func TestWordsAreKnownWithTheirQuotesRemoved(t *testing.T) {
	for _, c := range literalWords {
		s, err := Parse("p " + c[0])
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		cmds := s.Analyze(ShellState{}).Commands
		w := cmds[len(cmds)-1].Words[1]
		if got := w.Text; w.Known != (c[1] != "?") && c[0] != "?" || w.Known && got != c[1] {
			t.Errorf("%s: %q, known %v, want %q", c[0], got, w.Known, c[1])
		}
	}
}

func TestPlacesAndFilesAreTold(t *testing.T) {
	s, err := Parse("a b >x 2>>'y z' <w\n  c >/dev/null &>\"$z\"; { d; } >|q; >r 3>&1 >&s\nexit; e >t; eval 'f >u'")
	if err != nil {
		t.Skipf("a construct of this script is refused: %v", err)
	}
	k := s.Analyze(ShellState{})
	var got []string
	for _, c := range k.Commands {
		var line strings.Builder
		fmt.Fprintf(&line, "%d:%d %s", c.Line, c.Column, c.Words[0].Text)
		for _, w := range c.Writes {
			fmt.Fprintf(&line, " >%d:%d %s %v %v", w.Line, w.Column, w.Path.Text, w.Path.Known, w.Certain)
		}
		got = append(got, line.String())
	}
	for _, w := range k.Writes {
		got = append(got, fmt.Sprintf(">%d:%d %s %v", w.Line, w.Column, w.Path.Text, w.Certain))
	}
	want := []string{
		"1:1 a >1:5 x true true >1:8 y z true true", "2:3 c >2:16 \"$z\" false true", "2:26 d", "3:1 exit", "3:7 e >3:9 t true false", "3:13 eval", "3:18 f >3:18 u true false",
		">2:31 q true", ">2:36 r true", ">2:44 s true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAnySizeOfScriptIsWalked: no script takes long, however it is made.
func TestAnySizeOfScriptIsWalked(t *testing.T) {
	for says, script := range map[string]string{
		"many commands":  strings.Repeat("a;", 100_000),
		"many pipes":     strings.Repeat("a|", 80) + "a",
		"many functions": strings.Repeat("f() { :; };", 10_000) + strings.Repeat("(f);", 10_000),
		"evals":          strings.Repeat("eval ", 50_000) + "a",
		"arguments":      "a " + strings.Repeat("b ", 120_000),
		"loops":          strings.Repeat("while a; do ", 60) + "a" + strings.Repeat("; done", 60),
	} {
		s, err := Parse(script)
		if err != nil {
			t.Logf("%s: %v", says, err)
			continue
		}
		if n := len(s.Analyze(ShellState{}).Commands); n == 0 {
			t.Errorf("%s: no command", says)
		}
	}
}

func FuzzKnown(f *testing.F) {
	for _, text := range []string{"a | b > c", "eval 'a $(b)'", "f() { a; }; trap 'f' EXIT", "a <<E\n$(b)\nE", "x[1]=2 a ${x[1]:-b}", "for ((;;)); do a; done", "case a in b) c;; esac", "[[ -v x ]] && let x=1", "declare -n y=x", "$'\\x41' {a,b}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		for _, c := range s.Analyze(ShellState{}).Commands {
			if len(c.Words) == 0 || c.Line < 1 || c.Certain && (c.Why != "" || !c.Words[0].Known || c.Kind != Program) {
				t.Errorf("%+v", c)
			}
		}
	})
}
