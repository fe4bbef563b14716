//go:build linux

package interp

import (
	"time"
	"unicode/utf8"
)

// line reads up to the delimiter. A backslash before a character stays in the text,
// for store; one before a newline goes, with it.
func (r *reading) line(s *Shell, f *file) (line []byte, status int) {
	until := time.Now().Add(r.wait)
	var b [1]byte
	for taken := 0; r.count < 0 || taken < r.count; {
		if r.wait >= 0 && !readable(f.File, time.Until(until)) {
			return line, 142
		}
		if n, err := f.Read(b[:]); n == 0 || err != nil {
			return line, 1
		}
		c := b[0]
		if n := len(line); !r.raw && n > 0 && line[n-1] == '\\' && !r.escapedEnd(line[:n-1]) {
			if c == '\n' {
				line = line[:n-1]
			} else {
				line = append(line, c)
				taken++
			}
			continue
		}
		if c == r.delimiter && !r.exact {
			return line, 0
		}
		if c == 0 {
			continue
		}
		line = append(line, c)
		if (r.raw || c != '\\') && (!s.utf8() || utf8.FullRune(lastRune(line))) {
			taken++
		}
		if len(line) > maxValue {
			return line, 1
		}
	}
	return line, 0
}

// escapedEnd reports whether the backslash behind a text is itself escaped.
func (r *reading) escapedEnd(line []byte) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// lastRune is the last, perhaps unfinished character.
func lastRune(line []byte) []byte {
	i := len(line) - 1
	for i > 0 && !utf8.RuneStart(line[i]) {
		i--
	}
	return line[i:]
}
