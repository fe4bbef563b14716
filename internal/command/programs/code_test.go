package programs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/command/programs"
)

// TestScriptsThatOnlyEditPass, and those that start programs or cannot be
// followed are refused.
func TestScriptsThatOnlyEditPass(t *testing.T) {
	for language, scripts := range map[string]struct{ pass, not []string }{
		"sed": {
			[]string{
				"", "p", "1,20p", "$p", "1~2d", "10q", "2,+3p", "/x/,/y/p", "/a/I,$!d", "s/a/b/", "s/e/f/g", "s|/usr|/opt|gp", "s#a#b#;s,c,d,", "s/[^/]*$//", `s/\//x/`,
				`s/a\/e/b\/e/`, "s/[[:space:]]*$//", "s/x/&\\n/", "s/a/b\\\nc/", "y/ab/cd/", "/^$/d;/^#/d", "N;N;s/\\n/ /g", ":a;N;$!ba;s/\\n/ /g", "/a/{s/b/c/;p}", "/a/{\nd\n}",
				"a hello", "a\\\ntext; e x", "1i\\", "i\\  text", "1i # e", "# a comment; e x", "r f", "w out.txt", "s/a/b/w out", "r /dev/stdin", "$!N", "=", "l 5", `\,x,d`, `s/\(a\)\([e-z]*\)/\2\1/`, "/x/!s/a/b/2",
				"s/[a-z]*/x/Ig", "1!G;h;$!d", "q5", "s_a_b_", "1", "s/é/e/", "w /etc/x",
			},
			[]string{
				"e", "1e id", "e id", "s/a/b/e", "s/a/b/ge", "s/a/b/;e", "/x/e id", "$e", "p;e id", "s,x,[,e;s/]//e", "s/[/]/x/;e evil", ":a;e evil", "b;e evil", "y/ab/cd/;e evil", "{e id\n}",
				"a x\ne id", "#\ne id", "$!N;e id", `\,x,e id`, "s/a\\/b/c/;e id", "1{e id}", "s/a/b/w out\ne id", "s/a", "s/[a/b/", "s/[]/]/x/;e id", "s\x01a\x01b\x01e", "sxaxbxe", `s/[\]/x/;e id;/]/d`,
				strings.Repeat("p;", 8<<10) + "e id",
			},
		},
		"sed-files": {
			[]string{"r f", "w a/b.txt", "s/a/b/w c", "p"},
			[]string{"r /etc/passwd", "w /tmp/x", "r../x", "w a/../../x", "s/a/b/w /etc/x", "R ~/x", "W $HOME/x"},
		},
		"awk": {
			[]string{"{print $1}", `{print $1 "|" $2}`, "/a|b/", "a || b", `BEGIN{x="system(1)"} # system(2)`, "NR>1 && $3/2 > 1", "{s+=$1/NR} END{print s/NR, s/2/3}", `/[0-9]+\/x/{n++}`,
				`$0 ~ /^[[:space:]]*#/ {next} {print}`, `{gsub(/[^a-z ]/,"");print}`, "BEGIN{OFS=\",\"} \\\n{print $1,$2}", `{printf "%s/%s\n",$1,$2}`, `!seen[$0]++`, `$NF ~ /\.go$/ && !/_test/`,
				`{print $1/1024/1024 "M"}`, `{split($0,a,"/");print a[1]/a[2]}`, `/a\/b/,/c/`, `{print} # "|`, `/"/{n++}`, "BEGIN{\n  FS = \"|\"\n}\n$2 ~ /x|y/\n"},
			[]string{`BEGIN{system("id")}`, `{print | "id"}`, `"id" | getline`, `@load "x"`, `{ f="system"; @f($1) }`, "BEGIN{if(1)/x/;system(1)}",
				`/[^/"]/{system("./evil")}`, "BEGIN{sys\\\ntem(\"id\")}", "BEGIN{system\\\n(\"id\")}", `{print /"/; system("id") #"}`, `BEGIN{if(1)/"/;system("id")#"}`, "{x=1 /\"/; system(1)#\"/}",
				`/[]/]/{system("x")}`, `/[\]/"]/{system(1)}`, `END{getline x<f}{ @f() }`, `BEGIN{print "x" |& "id"}`, `BEGIN { "id" | getline }`, `/[/]/&&system("id")#]/`, "BEGIN{x=\"\\\\\";system(\"id\")#\"}", `BEGIN{print"a"|"sh"}`,
				`function f(){return/"/}BEGIN{system("id")}#"/`, `(1)/"/;"id"|getline#"`, "{a[1]/\"/1;system(1)#\"/}", `BEGIN{x["a"]/"/;system("id") #"}`, `BEGIN{` + strings.Repeat(`(1)/2;`, 80) + `}`, "BEGIN{print \"x\n\"}", `BEGIN{é=1}`},
		},
		"awk-piece": {[]string{"{print $1}", "NR==1"}, []string{"/\"/; system(1) #\"/", "/a|b/"}},
		"vim":       {[]string{"f.txt", "+10", "+/x", "q!", "+", "a/b.c"}, []string{"+!id", ":!id", "!id", "set x", "-c", "+call system(1)"}},
		"less":      {[]string{"f", "+10", "+/x", "++G", "+F"}, []string{"+!id", "++!id", "+|x"}},
		"sqlite3":   {[]string{"select 1;", ".tables", ".mode csv\nselect 1", ".separator |", "a.db"}, []string{".shell id", ".sh id", ".system id", ".load x", ".output |id", ".import -csv |id t", "select edit(1)", "select LOAD_EXTENSION('x')", "select edit ('1')", `select "edit"('x','id')`, "select load_extension/**/('x')", ".once -x", ".output -e", ".once '-x'", ".once\t|id", ".excel", "select 1;\n .shell id", ".new"}},
		"gdb":       {[]string{"run", "thread apply all bt"}, []string{"shell id", "!id", "python x", "she id", "thread apply all shell id", "python-interactive"}},
		"psql":      {[]string{"select 1", "copy t from stdin"}, []string{`\! id`, "COPY t FROM PROGRAM 'id'", "copy t TO PROGRAM 'x'"}},
		"mysql":     {[]string{"select 1"}, []string{"system id", `\! id`, "pager x"}},
		"nobody":    {nil, []string{"x"}},
	} {
		for _, text := range scripts.pass {
			if found := programs.CodeStarts(language, text); found != "" {
				t.Errorf("%s: %q does not pass: %q", language, text, found)
			}
		}
		for _, text := range scripts.not {
			if programs.CodeStarts(language, text) == "" {
				t.Errorf("%s: %q passes", language, text)
			}
		}
	}
}

// FuzzSedStartsNothing: a script that passes is run by the machine's own sed,
// and must not have started anything.
func FuzzSedStartsNothing(f *testing.F) {
	fuzzStarts(f, "sed-files", []string{"sed", "-n"}, "1e evil", []string{"1e evil", "s/x/evil/e", "s,x,[,e;s/]//e", "s/[/]/x/;e evil", "a\\\ne evil", ":a;e evil", "y/ab/e /;e evil", `s/[\]/x/;e evil;/]/d`, "/[[:alpha:]/]/e evil", "s/[]/]/x/;e evil", "}e evil", "1,2{e evil\n}"})
}

// FuzzAwkStartsNothing is the same for awk.
func FuzzAwkStartsNothing(f *testing.F) {
	fuzzStarts(f, "awk", []string{"awk"}, `BEGIN{system("evil")}`, []string{
		`{print $1/2}`, `/[^/"]/{system("evil")}`, `{print /"/; system("evil") #"}`, "BEGIN{system\\\n(\"evil\")}", `BEGIN{if(1)/"/;system("evil")#"}`, `/x/{print "evil" | "evil"}`, `/[]/]/{system("evil")}`,
		`{x=$0/"/;system("evil")#"}`, `/a\/"/{system("evil")}#"/`, `"evil"|getline`, `function f(x){return x/1}BEGIN{f("/")}`,
	})
}

// fuzzStarts runs the scripts that pass by the program of the machine.
func fuzzStarts(f *testing.F, language string, program []string, starts string, seeds []string) {
	path, err := exec.LookPath(program[0])
	if err != nil {
		f.Skip("no " + program[0])
	}
	bin := f.TempDir()
	mark := filepath.Join(bin, "mark")
	if err := os.WriteFile(filepath.Join(bin, "evil"), []byte("#!/bin/sh\n: > "+mark+"\n"), 0o700); err != nil {
		f.Fatal(err)
	}
	started := func(t testing.TB, script string) bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // some loop
		defer cancel()
		cmd := exec.CommandContext(ctx, path, append(program[1:len(program):len(program)], script)...)
		cmd.Dir, cmd.Env, cmd.Stdin = t.TempDir(), []string{"PATH=" + bin}, strings.NewReader("x\n")
		_ = cmd.Run() // most scripts are nonsense
		return os.Remove(mark) == nil
	}
	if !started(f, starts) {
		f.Skip("this " + program[0] + " starts nothing")
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		if strings.ContainsRune(script, 0) || programs.CodeStarts(language, script) != "" {
			return
		}
		if started(t, script) {
			t.Errorf("%q passes and starts a program", script)
		}
	})
}
