package language_test

import (
	"strings"
	"testing"

	"tipstaff/internal/policy/language"
)

// TestConditions: what words and options cannot express.
func TestConditions(t *testing.T) {
	for _, c := range []struct{ why, rule, match, not string }{
		{"an option of the program itself", `"^-c"`, "x -c a", "x sub -c a"},
		{"a value may stand before it", `"^-c"`, "x --unknown value -c a", "x a b -c"},
		{"+O and its value are no operands", `"^-c"`, "x +O extglob -c a", "x + a b -c"},
		{"text anywhere, in whatever case", `"{text:*proxycommand*}"`, "x a --o=ProxyCommand=b", "x proxy command"},
		{"text glued to an option", `"{text:file:*}"`, "x -vofile:a", "x a-file:b"},
		{"text behind --", `"{text:@*}"`, "x -- @a", "x -- a@"},
		{"a bar in a text", `'{text:\|*|!*}'`, "x '|a'", "x 'a|'"},
		{"a value that is not known", `"-p {not:no:*}"`, "x -qp evil", "x -pno:a -p no:b"},
		{"one of several values", `"-p {not:no:*}"`, "x -p no:a -p b", "x -p no:a b"},
		{"a value behind =", `"--exec {not:a}"`, "x --exec=b a", "x --exec=a b"},
		{"a value that is missing", `"-p {text:*}"`, "x -p a", "x -p"},
		{"the first argument", `"{first:*I*}"`, "x cIf a", "x -I a"},
		{"a path outside", `"{outside}"`, "x ../a", "x a/../b"},
		{"a path behind an option's letters", `"{outside}"`, "x -cf/etc/a", "x -cf a/etc"},
		{"a path behind = and @", `"{outside}"`, "x a=/etc/b", "x a=b/c"},
		{"a path as an address", `"{outside}"`, "x FILE:/etc/b", "x https://h/etc/b"},
		{"a pattern is no path", `"{outside}"`, "x /etc", "x '/^$/d'"},
		{"a path that looks like a pattern climbs", `"{outside}"`, "x '/a$/../etc'", "x /dev/null"},
		{"an awk program", `"{code:awk}"`, "x 'BEGIN{system(1)}'", "x '/a|b/ { print }' '|'"},
		{"a sed script", `"{code:sed}"`, "x -ne '1e id'", "x 's/e/f/' e"},
		{"a sed script behind its file", `"{code:sed}"`, "x a -e '1e id'", "x -e p e"},
		{"a file of a sed script", `"{code:sed-files}"`, "x 's/a/b/w /etc/a'", "x 's/a/b/w c'"},
	} {
		text := "version: 1\ncommands:\n  x:\n    allow: ['*']\n    deny:\n      - rule: " + c.rule +
			"\n        match: [" + quoted(c.match) + "]\n        not_match: [" + quoted(c.not) + "]\n"
		if _, err := load(text); err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

func quoted(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }

func TestConditionsThatMakeNoSense(t *testing.T) {
	for rule, want := range map[string]string{
		"{not:a}":      "no option stands in front",
		"{text:}":      "is written",
		"{outside:a}":  "is written",
		"{code:perl}":  "there are: awk",
		"{first:a}b":   "must stand alone",
		"a {not:b|c}":  "no option stands in front",
		"-p|word":      "write two rules",
		"-p {tex:a}":   "unknown typed argument",
		"{code:awk} *": "",
	} {
		_, err := load("version: 1\ncommands:\n  x: {allow: ['*'], deny: ['" + rule + "']}\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

// TestLongArgumentsCostLittle: the work does not grow with the square of the
// length.
func TestLongArgumentsCostLittle(t *testing.T) {
	p, err := load("version: 1\ncommands:\n  x: {allow: ['*'], deny: ['{outside}', '{text:a:*|b*c*d}', '{code:awk}']}\n")
	if err != nil {
		t.Fatal(err)
	}
	long := "-" + strings.Repeat("Ab", 1<<16)
	q := language.Query{Program: "x", Args: language.Args{Words: []string{long, "--a" + long, long[1:]}}}
	grown := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Judge(q, language.Lexical())
		}
	})
	if grown.AllocedBytesPerOp() > 64<<20 {
		t.Errorf("%d bytes for three arguments", grown.AllocedBytesPerOp())
	}
}

// TestInputMayHoldAnything: nothing is assumed about the input of xargs.
func TestInputMayHoldAnything(t *testing.T) {
	for _, rule := range []string{"{text:a}", "-p {not:no:*}", "{outside}", "{code:awk}", "^-c"} {
		p, err := load("version: 1\ncommands:\n  x: {allow: ['*'], deny: ['" + rule + "']}\n")
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range []language.Args{{Words: []string{"b"}, Open: true}, {Words: []string{"-p", "{}"}, Holes: []string{"{}"}}} {
			got := p.Judge(language.Query{Program: "x", Args: args}, language.Lexical())[0]
			if got.Effect != language.Deny && (args.Open || rule != "^-c") {
				t.Errorf("%s with %v: %s", rule, args, got.Effect)
			}
		}
	}
}
