package mcpserver

import (
	"strings"
	"testing"
)

func TestA8OutputReadsAsItWasPrinted(t *testing.T) {
	for _, c := range []struct{ says, text, want string }{
		{"lines", "a\nb\n", "|\n  a\n  b\n"},
		{"no line end", "a\nb", "|-\n  a\n  b\n"},
		{"more line ends", "a\n\n\n", "|+\n  a\n\n\n"},
		{"blanks before the first word, as git status has", " M a.go\n?? b.go\n", "|2\n   M a.go\n  ?? b.go\n"},
		{"a tab first", "\ta\n", "|2\n  \ta\n"},
		{"an empty line first", "\na\n", "|2\n\n  a\n"},
		{"all at once", "\n  a\n\n", "|2+\n\n    a\n\n"},
		{"an empty line between", "a\n\nb\n", "|\n  a\n\n  b\n"},
		{"emoji, symbols of fonts, blanks of other scripts", "👩‍💻 🏴 \ue0b0 \u00a0\u3000\u200d\n", "|\n  👩‍💻 🏴 \ue0b0 \u00a0\u3000\u200d\n"},
		{"far planes", "𝒳 \U00020000\n", "|\n  𝒳 \U00020000\n"},
		{"one line", "so far", "\"so far\"\n"},
		{"one line with quotes", `{"a": "b\n"}`, "|-\n  {\"a\": \"b\\n\"}\n"},
		{"nothing", "", "\"\"\n"},
		{"blanks only", " \n\n", "\" \\n\\n\"\n"},
		{"a last line of blanks that is not complete", "a\n ", "\"a\\n \"\n"},
		{"a last line of blanks that is complete", "a\n \n", "|+\n  a\n   \n"},
		{"carriage returns, which stand in raw output only", "a\r\n", "\"a\\r\\n\"\n"},
		{"control characters, too", "\x1b[31mred\x7f\u0085\n", "\"\\x1b[31mred\\x7f\\x85\\n\"\n"},
		{"what hides other text, too", "a\u202e\ufeff\u2028\U000e0041\n", "\"a\\u202e\\ufeff\\u2028\\U000e0041\\n\"\n"},
	} {
		var m mapping
		m.text("k", c.text)
		if got := m.encode(); got != "k: "+c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.says, got, "k: "+c.want)
		}
	}
}

// TestA8NothingIsEscapedThatWasCleaned: an answer is one escaped line only after
// cleaning was refused.
func TestA8NothingIsEscapedThatWasCleaned(t *testing.T) {
	for _, s := range awkward {
		if strings.Trim(s, " \t\n") == "" {
			continue
		}
		body, _ := yamlIn(t, exited(0, "x\n"+s+"\n", ""), answerForm{})
		if !strings.Contains(body, "stdout: |") {
			t.Errorf("%q became %s", s, body)
		}
	}
}

func TestA8WhatACallAsksOfItsAnswer(t *testing.T) {
	coloured := exited(0, "\x1b[31mred\x1b[0m\n10%\r20%\n", "")
	for _, c := range []struct {
		says string
		form answerForm
		want string
	}{
		{"nothing", answerForm{}, "exit_code: 0\ncleaned: true\nstdout: |\n  red\n  20%\nstderr: \"\"\n"},
		{"raw output", answerForm{raw: true}, "exit_code: 0\nstdout: \"\\x1b[31mred\\x1b[0m\\n10%\\r20%\\n\"\nstderr: \"\"\n"},
		{"less than there is", answerForm{bytes: 4}, "exit_code: 0\ntruncated: true\ncleaned: true\nstdout: |\n  [… 8 bytes, 2 lines omitted …]\nstderr: \"\"\n"},
	} {
		if got, _ := yamlIn(t, coloured, c.form); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.says, got, c.want)
		}
	}
	r := exited(0, strings.Repeat("0123456789\n", 100), "")
	r.Bound = 500
	for asked, atMost := range map[int]int{0: 500, 200: 200, 5000: 500} {
		out := answerForm{bytes: asked, raw: true}.show(r)
		if !out.truncated || len(out.stdout) > atMost || len(out.stdout) < atMost-90 {
			t.Errorf("asked for %d bytes of a bound of 500: got %d", asked, len(out.stdout))
		}
	}
}
