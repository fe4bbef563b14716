package recording

import (
	"strings"
	"unicode/utf8"
)

// decoder converts bytes that arrive in pieces to text: a character may begin
// in one piece and end in the next. Bytes that are not UTF-8 become U+FFFD.
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

// rest returns an incomplete character at the end.
func (d *decoder) rest() string {
	if len(d.held) == 0 {
		return ""
	}
	return "\uFFFD"
}

// unfinished returns how many bytes at the end of p may be the beginning of a
// character.
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
