package cmdline

import "testing"

func TestLinesStayLinesAndNothingElseIsObeyed(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"one":                      "one",
		"one\ntwo\n":               "one\ntwo\n",
		"\x1b[31mred\r\n\u202eeye": "\\x1b[31mred\\r\n\\u202eeye",
		"a\tb\n\xff":               "a\\tb\n\\xff",
	} {
		if got := EscapeLines(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
