package recording

import (
	"strings"
	"unicode/utf8"
)

// decoder makes text of bytes that come in pieces: a character may begin in one
// and end in the next. What is no UTF-8 becomes U+FFFD.
type decoder struct{ held []byte }

func (d *decoder) text(p []byte) string {
	p = append(d.held, p...)
	d.held = nil
	if n := unfinished(p); n > 0 {
		d.held = append([]byte(nil), p[len(p)-n:]...)
		p = p[:len(p)-n]
	}
	return strings.ToValidUTF8(string(p), "\uFFFD")
}

// rest is what never became a character.
func (d *decoder) rest() string {
	if len(d.held) == 0 {
		return ""
	}
	return "\uFFFD"
}

// unfinished is how many bytes at the end of p may be the beginning of a character.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if tail[0] >= utf8.RuneSelf && !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}
