package cmdline_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tipstaff/internal/command/cmdline"
)

// TestA2SplitKeepsWhatIsOneCommand: contract A2.
func TestA2SplitKeepsWhatIsOneCommand(t *testing.T) {
	for _, c := range []struct {
		says, line string
		want       []string
	}{
		{"blanks separate words", " ls\t -la  src ", []string{"ls", "-la", "src"}},
		{"single quotes keep everything", `echo 'a "b" $c \ ;'`, []string{"echo", `a "b" $c \ ;`}},
		{"double quotes unescape five characters only", `echo "\$ \" \\ \a"` + " \"a\\`b\"", []string{"echo", `$ " \ \a`, "a`b"}},
		{"quoted parts join into one word", `echo 'a'b"c"\ d`, []string{"echo", "abc d"}},
		{"empty quotes are an empty argument", `echo '' ""`, []string{"echo", "", ""}},
		{"backslash-newline joins", "echo a\\\nb \\\n c", []string{"echo", "ab", "c"}},
		{"backslash-newline joins in double quotes", "echo \"a\\\nb\"", []string{"echo", "ab"}},
		{"backslash-newline is text in single quotes", "echo 'a\\\nb'", []string{"echo", "a\\\nb"}},
		{"a join before # keeps it inside its word", "echo a\\\n#b", []string{"echo", "a#b"}},
		{"line ends around the command are trimmed", "\r\n\n ls a \r\n \n", []string{"ls", "a"}},
		{"a join at the very end is nothing", "ls a\\\n", []string{"ls", "a"}},
		{"a lone CR is text", "ls a\rb \r", []string{"ls", "a\rb", "\r"}},
		{"patterns, braces and ~ are text to Split, and ! is to every reader", `ls *.[ch] {a,b} ~ ~/x !x a!`, []string{"ls", "*.[ch]", "{a,b}", "~", "~/x", "!x", "a!"}},
		{"positional and special parameters stay literal", `echo $5 $$ $? $! $# $@ $* $- $0 "$1" a$ $`, []string{"echo", "$5", "$$", "$?", "$!", "$#", "$@", "$*", "$-", "$0", "$1", "a$", "$"}},
		{"$ before a closing quote is text", `echo "a$" "$'"`, []string{"echo", "a$", "$'"}},
		{"an equals sign after the first word is text", `env A=1 ls --x=y`, []string{"env", "A=1", "ls", "--x=y"}},
		{"a quoted equals sign assigns nothing", `A\=1 "B"=2`, []string{"A=1", "B=2"}},
		{"what is no name assigns nothing", `1A=2 -x`, []string{"1A=2", "-x"}},
		{"quoted keywords are programs", `"if" x`, []string{"if", "x"}},
		{"a keyword with empty quotes is a program", `if'' x`, []string{"if", "x"}},
		{"keywords after the first word are text", `echo if then { } !`, []string{"echo", "if", "then", "{", "}", "!"}},
		{"time is a program", `time npm run build`, []string{"time", "npm", "run", "build"}},
		{"[ is a program", `[ -f x ]`, []string{"[", "-f", "x", "]"}},
		{"only space and tab are blanks", "echo a\u00a0b\u2003c\vd\fe", []string{"echo", "a\u00a0b\u2003c\vd\fe"}},
	} {
		t.Run(c.says, func(t *testing.T) {
			got, err := cmdline.Split(c.line)
			if err != nil {
				t.Fatalf("%q: %v", c.line, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.line, diff)
			}
		})
	}
}

// TestA3SplitRefusesWhatOnlyAShellCanDo: contract A3. The texts are what a
// caller reads.
func TestA3SplitRefusesWhatOnlyAShellCanDo(t *testing.T) {
	for _, c := range []struct {
		says, line string
		want       string // the error
		hint       string // a part of the hint
	}{
		{"NUL", "ls a\x00b", "cannot split the command: a NUL character at column 5 (NUL)", "Remove the NUL"},
		{"an open single quote", "echo it's", "cannot split the command: an unclosed quote ' at column 8 (UNBALANCED_QUOTE)", `'\''`},
		{"an open double quote", `echo "a`, `cannot split the command: an unclosed quote " at column 6 (UNBALANCED_QUOTE)`, "Close the quote"},
		{"a trailing backslash", `echo a\`, `cannot split the command: a backslash with nothing after it \ at column 7 (TRAILING_BACKSLASH)`, `\\`},
		{"nothing", "", "cannot split the command: there is no word in it (EMPTY)", "ls -la"},
		{"only blanks and line ends", " \t\r\n \\\n", "cannot split the command: there is no word in it (EMPTY)", "ls -la"},
		{"a second line", "ls\nrm x", "cannot split the command: a line end between words at column 3 (NEWLINE)", "one call per command"},
		{"a second line after CRLF", "ls\r\nrm x", "cannot split the command: a line end between words at column 4 (NEWLINE)", "one call per command"},
		{"and", "cd src && make", "cannot split the command: the shell operator && at column 8 (OPERATOR)", "leave cd out and give the directory as cwd"},
		{"or", "make || true", "cannot split the command: the shell operator || at column 6 (OPERATOR)", "one call per command"},
		{"a joined operator", "make |\\\n| true", "cannot split the command: the shell operator || at column 6 (OPERATOR)", "bash -c '…'"},
		{"a pipe", "ls | wc -l", "cannot split the command: the shell operator | at column 4 (OPERATOR)", "goes into input"},
		{"a redirection", "ls 2>&1", "cannot split the command: the shell operator >& at column 5 (OPERATOR)", "come back in the answer"},
		{"a here-string", "cat <<<x", "cannot split the command: the shell operator <<< at column 5 (OPERATOR)", "with input"},
		{"the background", "make &", "cannot split the command: the shell operator & at column 6 (OPERATOR)", "background"},
		{"a subshell", "(ls)", "cannot split the command: the shell operator ( at column 1 (OPERATOR)", "single quotes"},
		{"a group", "{ ls; }", "cannot split the command: the shell operator { at column 1 (OPERATOR)", "one call"},
		{"a negation", "! ls", "cannot split the command: the shell operator ! at column 1 (OPERATOR)", "one call"},
		{"a comment", "ls # all", "cannot split the command: a shell comment # at column 4 (COMMENT)", "'#1'"},
		{"a substitution", "echo $(id)", "cannot split the command: the command substitution $( at column 6 (SUBSTITUTION)", "call of its own"},
		{"a substitution split by a join", "echo $\\\n(id)", "cannot split the command: the command substitution $( at column 6 (SUBSTITUTION)", "call of its own"},
		{"backquotes in double quotes", "echo \"a `id`\"", "cannot split the command: the command substitution ` at column 9 (SUBSTITUTION)", "single quotes"},
		{"a variable", "echo é$HOME/x", "cannot split the command: the variable expansion $HOME at column 7 (EXPANSION)", "Write the value itself"},
		{"a variable in double quotes", `echo "$HOME"`, "cannot split the command: the variable expansion $HOME at column 7 (EXPANSION)", "single quotes"},
		{"a braced variable", "echo ${x}", "cannot split the command: the variable expansion ${ at column 6 (EXPANSION)", "single quotes"},
		{"bash's old arithmetic", "echo $[1+1]", "cannot split the command: the variable expansion $[ at column 6 (EXPANSION)", "single quotes"},
		{"a variable after $", "echo $$HOME", "cannot split the command: the variable expansion $HOME at column 7 (EXPANSION)", "single quotes"},
		{"an ANSI quote", `echo $'a'`, `cannot split the command: the shell quote $' at column 6 (DOLLAR_QUOTE)`, "may span lines"},
		{"a locale quote", `echo $"a"`, `cannot split the command: the shell quote $" at column 6 (DOLLAR_QUOTE)`, "may span lines"},
		{"an assignment", "A=1 ls", "cannot split the command: the assignment A= at column 1 (ASSIGNMENT)", "env NAME=value"},
		{"an assignment with a quoted value", "A='1 2' ls", "cannot split the command: the assignment A= at column 1 (ASSIGNMENT)", "env NAME=value"},
		{"an appending assignment", "A+=1 ls", "cannot split the command: the assignment A+= at column 1 (ASSIGNMENT)", "env NAME=value"},
		{"an array subscript", "a[ b", "cannot split the command: the assignment a[ at column 1 (ASSIGNMENT)", "env NAME=value"},
		{"a keyword", "if true", "cannot split the command: the shell keyword if at column 1 (RESERVED_WORD)", "No shell runs here"},
		{"a keyword with a join in it", "whi\\\nle true", "cannot split the command: the shell keyword while at column 1 (RESERVED_WORD)", "No shell runs here"},
	} {
		t.Run(c.says, func(t *testing.T) {
			got, err := cmdline.Split(c.line)
			if err == nil {
				t.Fatalf("%q was accepted as %q", c.line, got)
			}
			if err.Error() != c.want {
				t.Errorf("%q\n got %s\nwant %s", c.line, err, c.want)
			}
			var syntax *cmdline.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("%T is no *argv.SyntaxError", err)
			}
			if !strings.Contains(syntax.Hint(cmdline.Offer{}), c.hint) {
				t.Errorf("hint %q does not say %q", syntax.Hint(cmdline.Offer{}), c.hint)
			}
		})
	}
}

// TestALineOfSignsIsReadInTime: what has to be looked at is proportional to the
// line.
func TestALineOfSignsIsReadInTime(t *testing.T) {
	const most = 64 << 10 // squared, this would take minutes
	begin := time.Now()
	for _, sign := range []string{"{", "}", "{a,", "{1..", "{}", "[", "[]", "[[:alpha:]", "[[.", "*", "?", "*/", "~", "~/", "a=~", "a[", ":~", "[!", "\\*", "''*", "* ", "{ ", "a{b}"} {
		for _, line := range []string{"x " + strings.Repeat(sign, most/len(sign)), "x []" + strings.Repeat(sign, most/len(sign)), "x " + strings.Repeat(sign, most/len(sign)) + "]}"} {
			if l, err := cmdline.Read(line); err == nil && len(l.Words) < 2 {
				t.Errorf("%.20q: %d words", line, len(l.Words))
			}
		}
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
