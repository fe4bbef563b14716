//go:build linux

package interp

import (
	"strings"
)

// readFields splits a line as read does, into at most n fields; the last takes
// what is left. Characters behind a backslash separate nothing.
func (s *Shell) readFields(text string, n int, raw bool) (fields []string) {
	ifs := " \t\n"
	if v := s.lookup("IFS"); v.set {
		ifs = v.text
	}
	l := &lineReader{text: text, raw: raw, ifs: ifs}
	l.blanks()
	for l.at < len(l.text) && (n < 0 || len(fields) < n-1) {
		fields = append(fields, l.field())
	}
	if l.at < len(l.text) && n > 0 {
		fields = append(fields, l.rest())
	}
	return fields
}

type lineReader struct {
	text string
	at   int
	raw  bool
	ifs  string
}

// next returns the character at hand, how long it is, and whether it is escaped.
func (l *lineReader) next() (c byte, size int, escaped bool) {
	c = l.text[l.at]
	if c == '\\' && !l.raw {
		if l.at+1 < len(l.text) {
			return l.text[l.at+1], 2, true
		}
		return 0, 1, true
	}
	return c, 1, false
}

func (l *lineReader) separates(c byte, escaped bool) bool {
	return !escaped && strings.IndexByte(l.ifs, c) >= 0
}

func (l *lineReader) blank(c byte, escaped bool) bool {
	return l.separates(c, escaped) && strings.IndexByte(" \t\n", c) >= 0
}

func (l *lineReader) blanks() {
	for l.at < len(l.text) {
		c, n, escaped := l.next()
		if !l.blank(c, escaped) {
			return
		}
		l.at += n
	}
}

func (l *lineReader) field() string {
	var t strings.Builder
	for l.at < len(l.text) {
		c, n, escaped := l.next()
		if l.separates(c, escaped) {
			break
		}
		if c != 0 || !escaped {
			t.WriteByte(c)
		}
		l.at += n
	}
	l.separator()
	return t.String()
}

// separator skips blanks, at most one other separator, and blanks.
func (l *lineReader) separator() {
	l.blanks()
	if l.at == len(l.text) {
		return
	}
	if c, n, escaped := l.next(); l.separates(c, escaped) {
		l.at += n
		l.blanks()
	}
}

// rest is the last field: all that is left, without blanks at its end. A single
// separator behind a single field goes, too.
func (l *lineReader) rest() string {
	start := l.at
	first := l.field()
	if l.at == len(l.text) {
		return first
	}
	l.at = start
	var t strings.Builder
	keep := 0
	for l.at < len(l.text) {
		c, n, escaped := l.next()
		if c != 0 || !escaped {
			t.WriteByte(c)
		}
		if !l.blank(c, escaped) {
			keep = t.Len()
		}
		l.at += n
	}
	return t.String()[:keep]
}
