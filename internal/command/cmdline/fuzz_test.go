package cmdline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tipstaff/internal/command/cmdline"
)

func seed(f *testing.F) {
	for _, c := range tokenCases(f) {
		if len(c.Command) < 200 {
			f.Add(c.Command)
		}
	}
}

// FuzzSplit: Split never panics, and what it accepts survives Quote. Read agrees
// with it, or refuses.
func FuzzSplit(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := cmdline.Split(line)
		if err != nil {
			return
		}
		if len(words) == 0 {
			t.Fatalf("%q was accepted as no words", line)
		}
		if read, err := cmdline.Read(line); err == nil && !cmp.Equal(words, read.Words) {
			t.Errorf("%q: Split says %q, Read %q", line, words, read.Words)
		}
		if read, err := cmdline.Read(cmdline.Quote(words)); err != nil || len(read.Patterns) > 0 {
			t.Errorf("%q: quoted, it has %d patterns, %v", line, len(read.Patterns), err)
		}
		again, err := cmdline.Split(cmdline.Quote(words))
		if err != nil || !cmp.Equal(words, again) {
			t.Errorf("%q: Split(Quote(%q)) = %q, %v", line, words, again, err)
		}
	})
}

// FuzzSplitAgainstShells: accepted means the same arguments in dash and in bash.
func FuzzSplitAgainstShells(f *testing.F) {
	seed(f)
	all := shells(f)
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) < 1000 {
			agree(t, all, line)
		}
	})
}

// FuzzPiecesAgainstShells is FuzzSplitAgainstShells on lines put together from
// the characters that mean something to a shell.
func FuzzPiecesAgainstShells(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03"))
	f.Add([]byte("\x04\x05\x06\x07\x08\x09\x0a\x0b"))
	pieces := []string{
		`\`, "\n", "\\\n", "'", `"`, "$", " ", "\t", "x", "if", "#", "=", "A=", "+=", "[", "]", "{", "}", ",", "!",
		"*", "?", "%", "^", ":", "-", "/", ".", "`", "(", ")", "|", "&", ";", "<", ">", "$'", `$"`, "${", "\r", "é", "1", "@", "\x01", "\x7f", "\x81", "''", `\$`,
		"~", "..", "a", "a.o", "d", "[:alpha:]", "[:^", "[.", "[=", ".]", ":]", "A=~", "}", "]", "3", "+",
	}
	all := shells(f)
	f.Fuzz(func(t *testing.T, which []byte) {
		if len(which) > 40 {
			return
		}
		var line strings.Builder
		line.WriteString("x")
		for _, b := range which {
			line.WriteString(pieces[int(b)%len(pieces)])
		}
		agree(t, all, line.String())
		agree(t, all, line.String()[1:])
	})
}
