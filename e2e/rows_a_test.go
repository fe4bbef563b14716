//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tipstaff/e2e/kit"
)

func TestA1ACommandLineRunsWithoutAShell(t *testing.T) {
	s := start(t, setup{})
	r := s.Command("echo hello")
	if b := r.Ran(); b.Stdout != "hello\n" || b.Stderr != "" {
		t.Errorf("got %+v", b)
	}
	if !strings.HasPrefix(r.Text, "exit_code: 0\nstdout:") {
		t.Errorf("the answer begins otherwise:\n%s", r.Text)
	}
}

func TestA2WordsAreSplitAsAPOSIXShellSplitsThem(t *testing.T) {
	s := start(t, setup{})
	for line, want := range map[string]string{
		`testcmd argv 'a b' "c d" e\ f`:   `["a b","c d","e f"]`,
		`testcmd argv '' "" "a"'b'`:       `["","","ab"]`,
		`testcmd argv "a\nb" 'c\nd'`:      `["a\\nb","c\\nd"]`,
		`testcmd argv *.go a?c [x]y !x`:   `["*.go","a?c","[x]y","!x"]`, // no such files
		`testcmd argv {} HEAD@{1} {x} a~`: `["{}","HEAD@{1}","{x}","a~"]`,
		`testcmd argv '*.o' "{a,b}" \~`:   `["*.o","{a,b}","~"]`,
		"testcmd argv a\\\nb":             `["ab"]`,
		`testcmd argv '$HOME; rm -rf /'`:  `["$HOME; rm -rf /"]`,
		"  testcmd\targv  x  \n":          `["x"]`,
	} {
		got := strings.TrimSpace(s.Command(line).Ran().Stdout)
		if !strings.HasSuffix(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(strings.TrimPrefix(want, "["), " ", "")) {
			t.Errorf("%q reached the program as %s, want %s", line, got, want)
		}
	}
}

// TestA2WhatAShellWouldExpandIsRefusedAndNothingIsTouched: rm -f *.o used to
// remove nothing and say that all was well, touch *.log to make a file of that
// name.
func TestA2WhatAShellWouldExpandIsRefusedAndNothingIsTouched(t *testing.T) {
	t.Parallel()
	s := start(t, setup{
		env:   []string{"ALLOWED_COMMANDS=rm,touch,ls,testcmd"},
		files: map[string]string{"a.o": "", "b.o": "", "x.log": "", "src/c.o": "", ".env": ""},
	})
	for line, want := range map[string][]string{
		"rm -f *.o":          {"the pattern *.o at column 7 matches a.o, b.o", "GLOB", "'*.o'"},
		"rm -f ?.o":          {"a.o, b.o", "GLOB"},
		"rm -f [!b].o":       {"matches a.o,", "GLOB"},
		"rm -f ./*.o":        {"./a.o, ./b.o", "GLOB"},
		"rm -f */*.o":        {"src/c.o", "GLOB"},
		"rm -rf .e*":         {".env", "GLOB"},
		"rm -rf *":           {"a.o, b.o, src, x.log", "GLOB"},
		"touch *.log":        {"x.log", "GLOB"},
		"rm -f {a,b}.o":      {"the brace expansion {a,b}.o at column 7", "BRACES"},
		"touch {1..3}":       {"BRACES"},
		"rm -rf ~":           {"the home directory ~ at column 8", "TILDE"},
		"touch ~/x":          {"TILDE"},
		"rm -f ../*.o":       {"leads out of the command's directory", "GLOB"},
		"rm -f /tmp/*.o":     {"leads out of the command's directory", "GLOB"},
		"ls --color=never *": {"GLOB"},
	} {
		s.Command(line).Refused(want...)
	}
	s.Command("rm -f *.o", kit.Args{"cwd": "src"}).Refused("matches c.o", "GLOB")
	for _, name := range []string{"a.o", "b.o", "x.log", "src/c.o", ".env"} {
		if _, err := os.Stat(filepath.Join(s.Workspace, name)); err != nil {
			t.Error(err)
		}
	}
	// Arguments that are given one by one are what they are.
	s.Process("touch", []string{"*.log", "{1..3}"}).Ran()
	s.Process("rm", []string{"*.log", "{1..3}"}).Ran()
	id := s.NewSession()
	if b := s.InSession(id, "testcmd", []string{"argv", "*.o", "{a,b}", "~"}).JSON(); !strings.Contains(b.Stdout, `"*.o"`) || !strings.Contains(b.Stdout, `"{a,b}"`) || !strings.Contains(b.Stdout, `"~"`) {
		t.Errorf("in a session: %+v", b)
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
		s.Command(line).Refused(want...)
	}
	if _, err := os.Stat(filepath.Join(s.Workspace, "PWN")); err == nil {
		t.Error("a refused line was run")
	}
}

func TestA4TheTimeoutIsUsedExactlyAsGivenOrRefused(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{"TIPSTAFF_MAX_TIMEOUT=5000"}})
	for _, bad := range []any{0, -1, 1.5, "500", true, 1e300} {
		s.Command("echo x", kit.Args{"timeout_ms": bad}).Refused("timeout_ms")
	}
	s.Command("echo x", kit.Args{"timeout_ms": 5001}).Refused("5000", "5001")
	s.Command("echo x", kit.Args{"timeout_ms": 5000}).Ran()
	s.Command("echo x", kit.Args{"timeout_ms": nil}).Ran()
	promptly(t, 1300*time.Millisecond, "a timeout of 300 ms", func() {
		began := time.Now()
		s.Command("sleep 30", kit.Args{"timeout_ms": 300}).Refused("Timed out after 300ms")
		if took := time.Since(began); took < 300*time.Millisecond {
			t.Errorf("a timeout of 300 ms took %v", took)
		}
	})
}

func TestA4WithoutATimeoutTheDefaultHolds(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{"TIPSTAFF_DEFAULT_TIMEOUT=2000"}}) // the first command waits for its sandbox as well
	s.Command("sleep 30").Refused("Timed out after 2000ms")
}

func TestA5ATimeoutAnswersWithWhatWasCaptured(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	r := s.Process("sh", []string{"-c", "echo out; echo err >&2; sleep 30"}, kit.Args{"timeout_ms": 5000}) // it has written by then
	b := r.YAML()
	if !r.IsError || b.ExitCode != 124 || b.Stdout != "out\n" || b.Stderr != "err\n" || !strings.HasPrefix(b.Error, "Timed out after 5000ms") {
		t.Errorf("got isError=%v %+v", r.IsError, b)
	}
}

func TestA6AllowedCommandsAreComparedBeforeAnyLookup(t *testing.T) {
	t.Parallel()
	s := start(t, setup{
		env:   []string{"ALLOWED_COMMANDS= ls , cat,, testcmd"},
		files: map[string]string{"ls": "#!/bin/sh\ntouch PWN\n", "tool": "#!/bin/sh\ntouch PWN\n"},
	})
	s.Command("ls").Ran()
	s.Command("cat /dev/null").Ran()
	s.Command("/bin/ls").Ran()
	s.Command("/usr/bin/../bin/ls").Ran() // the very file that ls is
	for _, line := range []string{"pwd", "LS", "./ls", "./tool", s.Workspace + "/ls", "/bin/rm", "' ls'", "l*"} {
		s.Command(line).Refused("is not allowed")
	}
	if _, err := os.Stat(filepath.Join(s.Workspace, "PWN")); err == nil {
		t.Error("a program of the workspace was run")
	}
}

func TestA6AnExactPathMayBeListedAndTheStarAllowsAll(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{"ALLOWED_COMMANDS=./tool"}, files: map[string]string{"tool": "#!/bin/sh\necho \"tool $0 $1\"\n"}})
	if b := s.Command("./tool x").Ran(); !strings.HasPrefix(b.Stdout, "tool ") {
		t.Errorf("got %+v", b)
	}
	s.Command("tool").Refused("is not allowed")
	all := start(t, setup{env: []string{"ALLOWED_COMMANDS=*"}})
	all.Command("pwd").Ran()
	none := start(t, setup{env: []string{"ALLOWED_COMMANDS="}})
	none.Command("pwd").Refused("is not allowed")
}

func TestA6ThePathOfACallerOrOfTheWorkspaceIsNeverUsed(t *testing.T) {
	t.Parallel()
	s := start(t, setup{
		env:   []string{"PATH=.:bin::/usr/bin:/bin", "ALLOWED_COMMANDS=ls,sh"},
		files: map[string]string{"ls": "#!/bin/sh\necho hijacked\n", "bin/ls": "#!/bin/sh\necho hijacked\n"},
	})
	if b := s.Command("ls -d /").Ran(); b.Stdout != "/\n" {
		t.Errorf("got %q", b.Stdout)
	}
	if b := s.Process("sh", []string{"-c", "echo $PATH; ls -d /"}).Ran(); !strings.HasPrefix(b.Stdout, "/usr/bin:/bin\n/\n") {
		t.Errorf("the program's own PATH gave %q", b.Stdout)
	}
}

func TestA7ARefusalSaysWhatIsAllowedAndSuggestsTheNearest(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{"ALLOWED_COMMANDS=git,ls,python3"}})
	s.Command("pwd").Refused(`Command "pwd" is not allowed`, "git", "ls", "python3")
	s.Command("gti status").Refused(`Command "gti" is not allowed`, `"git"`)
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("tool%02d", i)
	}
	long := start(t, setup{env: []string{"ALLOWED_COMMANDS=" + strings.Join(many, ",")}})
	r := long.Command("pwd")
	r.Refused("tool00", "20")
	if strings.Contains(r.Text, "tool25") {
		t.Errorf("more than 20 names are told:\n%s", r.Text)
	}
}

func TestA8TheAnswerReadsBackExactly(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	control := s.Command("testcmd control", kit.Args{"raw": true}).Ran()
	for _, r := range "\x00\x1b\x7f\u0085\u2028\u202e" {
		if !strings.ContainsRune(control.Stdout, r) {
			t.Errorf("%U did not come back", r)
		}
	}
	for _, text := range []string{"---\n", "exit_code: 0\n", "0123", "yes", "trailing \n \n", strings.Repeat("long ", 1000)} {
		if b := s.Process("printf", []string{"%s", text}).Ran(); b.Stdout != text || b.Cleaned {
			t.Errorf("%q came back as %q", text, b.Stdout)
		}
	}
	if b := s.Command("testcmd invalid 3").Ran(); !strings.Contains(b.Stdout, "\ufffd") {
		t.Errorf("invalid UTF-8 came back as %q", b.Stdout)
	}
	if r := s.Command("false"); r.IsError || r.YAML().ExitCode != 1 {
		t.Errorf("a failure of the program became one of the tool:\n%s", r.Text)
	}
}

func TestA8OutputIsCleanedForModels(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	const bar = "10%\r55%\r100%\n\x1b[31mred\x1b[0m\n"
	b := s.Process("printf", []string{"%s", bar}).Ran()
	if b.Stdout != "100%\nred\n" || !b.Cleaned || b.Truncated {
		t.Errorf("a progress bar: %+v", b)
	}
	if b := s.Process("printf", []string{"%s", bar}, kit.Args{"raw": true}).Ran(); b.Stdout != bar || b.Cleaned {
		t.Errorf("raw: %+v", b)
	}
	if b := s.Process("sh", []string{"-c", "head -c 4000 /proc/self/exe"}).Ran(); !strings.HasPrefix(b.Stdout, "[binary, 4000 bytes, ELF, sha256 ") || !b.Truncated {
		t.Errorf("a program: %+v", b)
	}
	r := s.Process("sh", []string{"-c", "yes equal | head -n 1000000; sleep 30"}, kit.Args{"timeout_ms": 5000})
	if body := r.YAML(); !strings.Contains(body.Stdout, " more lines like this one …]\n") || len(body.Stdout) > 500 {
		t.Errorf("equal lines: %.500s", r.Text)
	}
	for _, early := range []string{"exit_code:", "truncated:", "cleaned:", "error:", "hint:"} {
		if i := strings.Index(r.Text, early); i < 0 || i > strings.Index(r.Text, "stdout:") {
			t.Errorf("%s does not stand before the output:\n%.500s", early, r.Text)
		}
	}
	if text := s.Process("printf", []string{"%s", " M a.go\n?? b 😀.go\n"}).Text; !strings.Contains(text, "stdout: |2\n   M a.go\n  ?? b 😀.go\n") {
		t.Errorf("git's short status reads as\n%s", text)
	}
}

func TestA9ADirectoryIsCheckedAndEnteredCanonically(t *testing.T) {
	t.Parallel()
	s := start(t, setup{files: map[string]string{"sub/file": "x"}})
	if err := os.Symlink("sub", filepath.Join(s.Workspace, "link")); err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]string{
		"sub": s.Workspace + "/sub", "link": s.Workspace + "/sub", "sub/..": s.Workspace, s.Workspace: s.Workspace, "/": "/",
	} {
		if b := s.Command("pwd", kit.Args{"cwd": cwd}).Ran(); b.Stdout != want+"\n" {
			t.Errorf("cwd %q ran in %q, want %q", cwd, b.Stdout, want)
		}
	}
	if b := s.Command("pwd").Ran(); b.Stdout != s.Workspace+"\n" {
		t.Errorf("without cwd it ran in %q", b.Stdout)
	}
	for _, cwd := range []string{"", "does-not-exist", "sub/file", "sub\x00", "does-not-exist/.."} {
		s.Command("pwd", kit.Args{"cwd": cwd}).Refused("cwd")
	}
}

func TestA10DirectoriesAreConfinedToTheRootsBySegment(t *testing.T) {
	t.Parallel()
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
		s.Command("pwd", kit.Args{"cwd": root + cwd}).Ran()
	}
	for _, cwd := range []string{root, root + "/inside", root + "/in/out", root + "/in/../inside", "/", "."} {
		s.Command("pwd", kit.Args{"cwd": cwd}).Refused("cwd", "not")
	}
	s.Command("pwd").Ran() // omitted: the server's own directory, unchecked
}

func TestA10ABrokenRootRefusesEveryCallThatGivesCwd(t *testing.T) {
	t.Parallel()
	s := start(t, setup{env: []string{"ALLOWED_CWD_ROOTS=/usr,/path/that/does/not/exist"}})
	s.Command("pwd", kit.Args{"cwd": "/usr"}).Refused("configuration", "ALLOWED_CWD_ROOTS")
	s.Command("pwd").Ran()
}

func TestA11ArgumentsReachTheProgramByteForByte(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	argv := []string{"", "a b", "$HOME", "$(id)", "`id`", "; rm -rf /", "|", ">", "'", "\"", "\\", "\n", "\t", "é日😀", "\u202e", "-n", "--"}
	b := s.Process("testcmd", append([]string{"argv"}, argv...), kit.Args{"raw": true}).Ran()
	want, _ := jsonList(argv)
	if got := strings.TrimSpace(b.Stdout); !strings.HasSuffix(got, want[1:]) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Process("testcmd", []string{"argv", "a\x00b"}).Refused("NUL")
	s.Call("execute_process", kit.Args{"file": "true"}).Ran() // no args at all
	s.Process("python3", nil).Refused(`Command "python3" is not allowed`)
}

func TestA12InputIsWrittenAndClosed(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	if b := s.Command("cat", kit.Args{"input": "a\nb"}).Ran(); b.Stdout != "a\nb" {
		t.Errorf("got %q", b.Stdout)
	}
	if b := s.Process("cat", nil, kit.Args{"input": ""}).Ran(); b.Stdout != "" {
		t.Errorf("got %q", b.Stdout)
	}
	if b := s.Command("cat").Ran(); b.Stdout != "" { // /dev/null
		t.Errorf("got %q", b.Stdout)
	}
	big := strings.Repeat("0123456789abcdef", 20_000)
	if b := s.Process("cat", nil, kit.Args{"input": big}).Ran(); b.Stdout != big {
		t.Errorf("%d bytes came back as %d", len(big), len(b.Stdout))
	}
	s.Process("true", nil, kit.Args{"input": big}).Ran() // never reads it
}

func TestA13SignalsAndProgramsThatCannotStart(t *testing.T) {
	t.Parallel()
	s := start(t, setup{
		env:   []string{"ALLOWED_COMMANDS=testcmd,no-such-program,./plain,./bad"},
		files: map[string]string{"bad": "#!/no/such/interpreter\n"},
	})
	for sig, code := range map[string]int{"KILL": 137, "SEGV": 139, "TERM": 143} {
		r := s.Process("testcmd", []string{"signal", sig})
		if b := r.YAML(); r.IsError || b.ExitCode != code || b.Signal != "SIG"+sig {
			t.Errorf("death by %s: isError=%v %+v", sig, r.IsError, b)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Workspace, "plain"), []byte("echo hi"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]int{"no-such-program": 127, "./plain": 126, "./bad": 127} {
		r := s.Process(name, nil)
		if b := r.YAML(); !r.IsError || b.ExitCode != code || b.Error == "" || b.Hint == "" {
			t.Errorf("%s: isError=%v\n%s", name, r.IsError, r.Text)
		}
	}
}
