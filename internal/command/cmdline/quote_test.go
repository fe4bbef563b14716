package cmdline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tipstaff/internal/command/cmdline"
)

func TestQuoteAndDisplayWriteWhatWasAsked(t *testing.T) {
	for _, c := range []struct {
		says    string
		words   []string
		quote   string
		display string // "" when it is the same
	}{
		{"plain words stay bare", []string{"git", "log", "--format=%h", "a/b.c:1,2", "x@y+z"}, "git log --format=%h a/b.c:1,2 x@y+z", ""},
		{"what a shell would touch is quoted", []string{"ls", "*.go", "~", "a b", "$x", "!", "#", "{a,b}"}, `ls '*.go' '~' 'a b' '$x' '!' '#' '{a,b}'`, ""},
		{"a single quote is closed, escaped, opened", []string{"echo", "it's"}, `echo 'it'\''s'`, ""},
		{"an empty word shows", []string{"echo", ""}, "echo ''", ""},
		{"a first word is no assignment and no keyword", []string{"A=1", "A=1"}, "'A=1' A=1", ""},
		{"a keyword is quoted where it counts", []string{"if", "if"}, "'if' if", ""},
		{"letters of all scripts are text", []string{"echo", "日本 é"}, "echo '日本 é'", ""},
		{"no word is no line", nil, "", ""},
		{"line ends show as escapes", []string{"echo", "a\nb'c\\"}, "echo 'a\nb'\\''c\\'", `echo $'a\nb\'c\\'`},
		{"terminal escapes show", []string{"echo", "\x1b[2J\x7f"}, "echo '\x1b[2J\x7f'", `echo $'\x1b[2J\x7f'`},
		{"bidirectional and invisible characters show", []string{"echo", "\u202etxt\u200b\u3164\ufe0f\U000e0041"}, "echo '\u202etxt\u200b\u3164\ufe0f\U000e0041'", `echo $'\u202etxt\u200b\u3164\ufe0f\U000e0041'`},
		{"malformed UTF-8 shows", []string{"echo", "a\xffb"}, "echo 'a\xffb'", `echo $'a\xffb'`},
		{"an odd blank shows", []string{"ls\u00a0-la"}, "'ls\u00a0-la'", `$'ls\u00a0-la'`},
	} {
		t.Run(c.says, func(t *testing.T) {
			if got := cmdline.Quote(c.words); got != c.quote {
				t.Errorf("Quote: %s\nwant:  %s", got, c.quote)
			}
			want := c.display
			if want == "" {
				want = c.quote
			}
			if got := cmdline.Display(c.words); got != want {
				t.Errorf("Display: %s\nwant:    %s", got, want)
			}
			if words, err := cmdline.Split(c.quote); len(c.words) > 0 && (err != nil || !cmp.Equal(words, c.words)) {
				t.Errorf("Split(Quote(%q)) = %q, %v", c.words, words, err)
			}
		})
	}
}
