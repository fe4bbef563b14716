//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestA1ACommandLineRunsWithoutAShell(t *testing.T) {
	s := start(t, setup{})
	r := s.command("echo hello")
	if b := r.ran(); b.Stdout != "hello\n" || b.Stderr != "" {
		t.Errorf("got %+v", b)
	}
	if !strings.HasPrefix(r.Text, "exit_code: 0\nstdout:") {
		t.Errorf("the answer begins otherwise:\n%s", r.Text)
	}
}

func TestA2WordsAreSplitAsAPOSIXShellSplitsThem(t *testing.T) {
	s := start(t, setup{})
	for line, want := range map[string]string{
		`testcmd argv 'a b' "c d" e\ f`:  `["a b","c d","e f"]`,
		`testcmd argv '' "" "a"'b'`:      `["","","ab"]`,
		`testcmd argv "a\nb" 'c\nd'`:     `["a\\nb","c\\nd"]`,
		`testcmd argv *.go {a,b} ~ !x`:   `["*.go","{a,b}","~","!x"]`,
		"testcmd argv a\\\nb":            `["ab"]`,
		`testcmd argv '$HOME; rm -rf /'`: `["$HOME; rm -rf /"]`,
		"  testcmd\targv  x  \n":         `["x"]`,
	} {
		got := strings.TrimSpace(s.command(line).ran().Stdout)
		if !strings.HasSuffix(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(strings.TrimPrefix(want, "["), " ", "")) {
			t.Errorf("%q reached the program as %s, want %s", line, got, want)
		}
	}
}

func TestA3WhatOnlyAShellCouldDoIsRefused(t *testing.T) {
	s := start(t, setup{})
	for line, want := range map[string][]string{
		"echo a; touch PWN":    {"OPERATOR", ";", "column 7"},
		"echo a && touch PWN":  {"OPERATOR", "&&", "one call"},
		"echo a | cat":         {"OPERATOR", "|"},
		"echo a > PWN":         {"OPERATOR", ">"},
		"(echo a)":             {"OPERATOR"},
		"echo $HOME":           {"EXPANSION", "$HOME", "single quotes"},
		"echo \"${HOME}\"":     {"EXPANSION"},
		"echo $(touch PWN)":    {"SUBSTITUTION", "$("},
		"echo `touch PWN`":     {"SUBSTITUTION"},
		"echo a\ntouch PWN":    {"NEWLINE"},
		"echo a # comment":     {"COMMENT"},
		"A=1 echo a":           {"ASSIGNMENT"},
		"echo $'a'":            {"DOLLAR_QUOTE"},
		"echo 'a":              {"UNBALANCED_QUOTE"},
		"echo a\\":             {"TRAILING_BACKSLASH"},
		"":                     {"EMPTY"},
		"   ":                  {"EMPTY"},
		"echo a\x00b":          {"NUL"},
		"cd /tmp && touch PWN": {"cwd"},
	} {
		s.command(line).refused(want...)
	}
	if _, err := os.Stat(filepath.Join(s.workspace, "PWN")); err == nil {
		t.Error("a refused line was run")
	}
}

func TestA4TheTimeoutIsUsedExactlyAsGivenOrRefused(t *testing.T) {
	s := start(t, setup{env: []string{"TIPSTAFF_MAX_TIMEOUT=5000"}})
	for _, bad := range []any{0, -1, 1.5, "500", true, 1e300} {
		s.command("echo x", args{"timeout_ms": bad}).refused("timeout_ms")
	}
	s.command("echo x", args{"timeout_ms": 5001}).refused("5000", "5001")
	s.command("echo x", args{"timeout_ms": 5000}).ran()
	s.command("echo x", args{"timeout_ms": nil}).ran()
	began := time.Now()
	r := s.command("sleep 30", args{"timeout_ms": 300})
	if took := time.Since(began); took < 300*time.Millisecond || took > 1300*time.Millisecond {
		t.Errorf("a timeout of 300 ms took %v", took)
	}
	r.refused("Timed out after 300ms")
}

func TestA4WithoutATimeoutTheDefaultHolds(t *testing.T) {
	s := start(t, setup{env: []string{"TIPSTAFF_DEFAULT_TIMEOUT=400"}})
	s.command("sleep 30").refused("Timed out after 400ms")
}

func TestA5ATimeoutAnswersWithWhatWasCaptured(t *testing.T) {
	s := start(t, setup{})
	r := s.process("sh", []string{"-c", "echo out; echo err >&2; sleep 30"}, args{"timeout_ms": 500})
	b := r.yaml()
	if !r.IsError || b.ExitCode != 124 || b.Stdout != "out\n" || b.Stderr != "err\n" || !strings.HasPrefix(b.Error, "Timed out after 500ms") {
		t.Errorf("got isError=%v %+v", r.IsError, b)
	}
}

func TestA6AllowedCommandsAreComparedBeforeAnyLookup(t *testing.T) {
	s := start(t, setup{
		env:   []string{"ALLOWED_COMMANDS= ls , cat,, testcmd"},
		files: map[string]string{"ls": "#!/bin/sh\ntouch PWN\n", "tool": "#!/bin/sh\ntouch PWN\n"},
	})
	s.command("ls").ran()
	s.command("cat /dev/null").ran()
	s.command("/bin/ls").ran()
	s.command("/usr/bin/../bin/ls").ran() // the very file that ls is
	for _, line := range []string{"pwd", "LS", "./ls", "./tool", s.workspace + "/ls", "/bin/rm", "' ls'", "l*"} {
		s.command(line).refused("is not allowed")
	}
	if _, err := os.Stat(filepath.Join(s.workspace, "PWN")); err == nil {
		t.Error("a program of the workspace was run")
	}
}

func TestA6AnExactPathMayBeListedAndTheStarAllowsAll(t *testing.T) {
	s := start(t, setup{env: []string{"ALLOWED_COMMANDS=./tool"}, files: map[string]string{"tool": "#!/bin/sh\necho \"tool $0 $1\"\n"}})
	if b := s.command("./tool x").ran(); !strings.HasPrefix(b.Stdout, "tool ") {
		t.Errorf("got %+v", b)
	}
	s.command("tool").refused("is not allowed")
	all := start(t, setup{env: []string{"ALLOWED_COMMANDS=*"}})
	all.command("pwd").ran()
	none := start(t, setup{env: []string{"ALLOWED_COMMANDS="}})
	none.command("pwd").refused("is not allowed")
}

func TestA6ThePathOfACallerOrOfTheWorkspaceIsNeverUsed(t *testing.T) {
	s := start(t, setup{
		env:   []string{"PATH=.:bin::/usr/bin:/bin", "ALLOWED_COMMANDS=ls,sh"},
		files: map[string]string{"ls": "#!/bin/sh\necho hijacked\n", "bin/ls": "#!/bin/sh\necho hijacked\n"},
	})
	if b := s.command("ls -d /").ran(); b.Stdout != "/\n" {
		t.Errorf("got %q", b.Stdout)
	}
	if b := s.process("sh", []string{"-c", "echo $PATH; ls -d /"}).ran(); !strings.HasPrefix(b.Stdout, "/usr/bin:/bin\n/\n") {
		t.Errorf("the program's own PATH gave %q", b.Stdout)
	}
}

func TestA7ARefusalSaysWhatIsAllowedAndSuggestsTheNearest(t *testing.T) {
	s := start(t, setup{env: []string{"ALLOWED_COMMANDS=git,ls,python3"}})
	s.command("pwd").refused(`Command "pwd" is not allowed`, "git", "ls", "python3")
	s.command("gti status").refused(`Command "gti" is not allowed`, `"git"`)
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("tool%02d", i)
	}
	long := start(t, setup{env: []string{"ALLOWED_COMMANDS=" + strings.Join(many, ",")}})
	r := long.command("pwd")
	r.refused("tool00", "20")
	if strings.Contains(r.Text, "tool25") {
		t.Errorf("more than 20 names are told:\n%s", r.Text)
	}
}

func TestA8TheAnswerReadsBackExactly(t *testing.T) {
	s := start(t, setup{})
	control := s.command("testcmd control").ran()
	for _, r := range "\x00\x1b\x7f\u0085\u2028\u202e" {
		if !strings.ContainsRune(control.Stdout, r) {
			t.Errorf("%U did not come back", r)
		}
	}
	for _, text := range []string{"---\n", "exit_code: 0\n", "0123", "yes", "trailing \n \n", strings.Repeat("long ", 1000)} {
		if b := s.process("printf", []string{"%s", text}).ran(); b.Stdout != text {
			t.Errorf("%q came back as %q", text, b.Stdout)
		}
	}
	if b := s.command("testcmd invalid 3").ran(); !strings.Contains(b.Stdout, "\ufffd") {
		t.Errorf("invalid UTF-8 came back as %q", b.Stdout)
	}
	if r := s.command("false"); r.IsError || r.yaml().ExitCode != 1 {
		t.Errorf("a failure of the program became one of the tool:\n%s", r.Text)
	}
}

func TestA9ADirectoryIsCheckedAndEnteredCanonically(t *testing.T) {
	s := start(t, setup{files: map[string]string{"sub/file": "x"}})
	if err := os.Symlink("sub", filepath.Join(s.workspace, "link")); err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]string{
		"sub": s.workspace + "/sub", "link": s.workspace + "/sub", "sub/..": s.workspace, s.workspace: s.workspace, "/": "/",
	} {
		if b := s.command("pwd", args{"cwd": cwd}).ran(); b.Stdout != want+"\n" {
			t.Errorf("cwd %q ran in %q, want %q", cwd, b.Stdout, want)
		}
	}
	if b := s.command("pwd").ran(); b.Stdout != s.workspace+"\n" {
		t.Errorf("without cwd it ran in %q", b.Stdout)
	}
	for _, cwd := range []string{"", "does-not-exist", "sub/file", "sub\x00", "does-not-exist/.."} {
		s.command("pwd", args{"cwd": cwd}).refused("cwd")
	}
}

func TestA10DirectoriesAreConfinedToTheRootsBySegment(t *testing.T) {
	root := canonical(t, t.TempDir())
	for _, d := range []string{"in/deep", "in/..foo", "inside"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(root, "in", "out")); err != nil {
		t.Fatal(err)
	}
	s := start(t, setup{env: []string{"ALLOWED_CWD_ROOTS= " + root + "/in , "}})
	for _, cwd := range []string{"/in", "/in/deep", "/in/deep/..", "/in/..foo"} {
		s.command("pwd", args{"cwd": root + cwd}).ran()
	}
	for _, cwd := range []string{root, root + "/inside", root + "/in/out", root + "/in/../inside", "/", "."} {
		s.command("pwd", args{"cwd": cwd}).refused("cwd", "not")
	}
	s.command("pwd").ran() // omitted: the server's own directory, unchecked
}

func TestA10ABrokenRootRefusesEveryCallThatGivesCwd(t *testing.T) {
	s := start(t, setup{env: []string{"ALLOWED_CWD_ROOTS=/usr,/path/that/does/not/exist"}})
	s.command("pwd", args{"cwd": "/usr"}).refused("configuration", "ALLOWED_CWD_ROOTS")
	s.command("pwd").ran()
}

func TestA11ArgumentsReachTheProgramByteForByte(t *testing.T) {
	s := start(t, setup{})
	argv := []string{"", "a b", "$HOME", "$(id)", "`id`", "; rm -rf /", "|", ">", "'", "\"", "\\", "\n", "\t", "é日😀", "\u202e", "-n", "--"}
	b := s.process("testcmd", append([]string{"argv"}, argv...)).ran()
	want, _ := jsonList(argv)
	if got := strings.TrimSpace(b.Stdout); !strings.HasSuffix(got, want[1:]) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.process("testcmd", []string{"argv", "a\x00b"}).refused("NUL")
	s.call("execute_process", args{"file": "true"}).ran() // no args at all
	s.process("python3", nil).refused(`Command "python3" is not allowed`)
}

func TestA12InputIsWrittenAndClosed(t *testing.T) {
	s := start(t, setup{})
	if b := s.command("cat", args{"input": "a\nb"}).ran(); b.Stdout != "a\nb" {
		t.Errorf("got %q", b.Stdout)
	}
	if b := s.process("cat", nil, args{"input": ""}).ran(); b.Stdout != "" {
		t.Errorf("got %q", b.Stdout)
	}
	if b := s.command("cat").ran(); b.Stdout != "" { // /dev/null
		t.Errorf("got %q", b.Stdout)
	}
	big := strings.Repeat("0123456789abcdef", 20_000)
	if b := s.process("cat", nil, args{"input": big}).ran(); b.Stdout != big {
		t.Errorf("%d bytes came back as %d", len(big), len(b.Stdout))
	}
	s.process("true", nil, args{"input": big}).ran() // never reads it
}

func TestA13SignalsAndProgramsThatCannotStart(t *testing.T) {
	s := start(t, setup{
		env:   []string{"ALLOWED_COMMANDS=testcmd,no-such-program,./plain,./bad"},
		files: map[string]string{"bad": "#!/no/such/interpreter\n"},
	})
	for sig, code := range map[string]int{"KILL": 137, "SEGV": 139, "TERM": 143} {
		r := s.process("testcmd", []string{"signal", sig})
		if b := r.yaml(); r.IsError || b.ExitCode != code || b.Signal != "SIG"+sig {
			t.Errorf("death by %s: isError=%v %+v", sig, r.IsError, b)
		}
	}
	if err := os.WriteFile(filepath.Join(s.workspace, "plain"), []byte("echo hi"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]int{"no-such-program": 127, "./plain": 126, "./bad": 127} {
		r := s.process(name, nil)
		if b := r.yaml(); !r.IsError || b.ExitCode != code || b.Error == "" || b.Hint == "" {
			t.Errorf("%s: isError=%v\n%s", name, r.IsError, r.Text)
		}
	}
}
