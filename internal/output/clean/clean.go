package clean

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Clean returns output as a terminal would show it, without colours: control
// sequences, carriage returns and backspaces are applied within their line or
// removed, equal lines are folded, and NUL and bytes that are not UTF-8 become
// U+FFFD. Characters that turn the direction of text or that no font shows are
// written as <U+202E>, because they hide what is there. changed reports whether
// the text differs from p.
//
// The text has no control characters but tabs and line ends, and every
// character of it may stand in a literal block of YAML. Work and memory are
// proportional to the length of p.
func Clean(p []byte) (text string, changed bool) {
	c := cleaner{p: p}
	c.run()
	text = c.folder.end(c.line.take())
	return text, c.changed || c.folded
}

type cleaner struct {
	p    []byte
	line line
	folder
	changed bool
}

// run reads all of p, run by run of plain bytes.
func (c *cleaner) run() {
	for i := 0; i < len(c.p); {
		if n := plainRun(c.p[i:]); n > 0 {
			c.line.plain(c.p[i : i+n])
			i += n
			continue
		}
		i += c.special(c.p[i:])
	}
}

// plainRun returns how many bytes at the start of p are printable ASCII or
// tabs.
func plainRun(p []byte) int {
	for i, b := range p {
		if b < ' ' && b != '\t' || b >= 0x7f {
			return i
		}
	}
	return len(p)
}

// special reads one character or control sequence that is not plain, and
// returns its length.
func (c *cleaner) special(p []byte) int {
	switch b := p[0]; {
	case b == '\n':
		c.folder.line(c.line.take())
		return 1
	case b >= utf8.RuneSelf:
		return c.character(p)
	}
	c.changed = true
	switch p[0] {
	case '\r':
		if rest := strings.TrimLeft(string(p[:min(len(p), 8)]), "\r"); rest == "" || rest[0] != '\n' {
			c.line.begin()
		}
	case '\b':
		c.line.back()
	case esc:
		n, e := sequence(p)
		c.line.apply(e)
		return n
	case 0:
		c.line.put(utf8.RuneError)
	}
	return 1 // other control characters print nothing
}

// character reads one character outside of ASCII.
func (c *cleaner) character(p []byte) int {
	r, n := utf8.DecodeRune(p)
	switch {
	case r == utf8.RuneError && n == 1, r == 0xfffe, r == 0xffff:
		c.line.put(utf8.RuneError)
	case r == 0x9b:
		length, e := sequence(p)
		c.line.apply(e)
		n = length
	case r == 0x85, r == 0x2028, r == 0x2029: // line ends to some readers
		c.folder.line(c.line.take())
	case r < 0xa0, r == bom:
	case hides(r):
		c.line.plain(fmt.Appendf(nil, "<U+%04X>", r))
	default:
		c.line.put(r)
		return n
	}
	c.changed = true
	return n
}

// bom is the byte order mark, which is no character of the text.
const bom = 0xfeff

// hides reports whether a character is there to change how others are shown, or
// to be seen by programs only: overrides and isolates of direction, and tags.
func hides(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r <= 0xe007f
}

// Valid returns output with each byte that is not UTF-8 replaced by U+FFFD, and
// nothing else changed.
func Valid(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	var b strings.Builder
	b.Grow(len(p) + len(p)/8)
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		b.WriteRune(r) // U+FFFD for an invalid byte
		p = p[n:]
	}
	return b.String()
}
