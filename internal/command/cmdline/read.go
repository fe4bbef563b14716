package cmdline

import (
	"strings"
	"unicode/utf8"
)

// Line is a command line in words.
type Line struct {
	Words []string
	// Patterns are the words in whose place a shell would put names of files, if
	// there are any that match. The caller asks [Pattern.Find].
	Patterns []*Pattern
}

// Read splits a line as [Split] does, and refuses what only a shell expands by
// its form: {a,b}, {1..3}, and ~ where it stands for a home directory.
//
// If none of the patterns matches a file, the words are those that a shell would
// give to the program.
func Read(line string) (Line, error) {
	s := &splitter{src: line}
	var l Line
	at, column := 0, 1 // of the last word that was judged
	s.each = func(w word) error {
		raw := line[w.start:s.pos]
		if !strings.ContainsAny(raw, "*?[{~") {
			return nil
		}
		column += utf8.RuneCountInString(line[at:w.start])
		at = w.start
		c := unquote(raw)
		fault := func(k Kind) error {
			return &SyntaxError{Kind: k, Column: column, Found: excerpt(raw)}
		}
		switch {
		case c.hasBraces():
			return fault(Braces)
		case c.hasTilde():
			return fault(Tilde)
		case c.hasPattern():
			l.Patterns = append(l.Patterns, &Pattern{Text: w.text, Index: len(s.words), Column: column, segments: c.segments()})
		}
		return nil
	}
	if err := s.split(); err != nil {
		return Line{}, err
	}
	l.Words = s.words
	return l, nil
}

// characters are the bytes of a word without its quotes.
type characters struct {
	text []byte
	free []bool // free[i]: text[i] was not quoted, so a shell may see a sign in it
}

// unquote reads a word that the splitter has accepted. What follows a $ that
// stays literal ($?, $*) is no sign.
func unquote(raw string) characters {
	var c characters
	add := func(b byte, free bool) {
		c.text, c.free = append(c.text, b), append(c.free, free)
	}
	var quote byte
	for i := 0; i < len(raw); i++ {
		b := raw[i]
		next := byte(0)
		if i+1 < len(raw) {
			next = raw[i+1]
		}
		switch {
		case quote == '\'' && b != '\'', quote == '"' && b != '"' && b != '\\':
			add(b, false)
		case quote != 0 && b == quote:
			quote = 0
		case quote == 0 && (b == '\'' || b == '"'):
			quote = b
		case b == '\\' && next == '\n':
			i++
		case quote == '"': // a backslash
			if strings.IndexByte("$`\"\\", next) >= 0 {
				i++
				b = next
			}
			add(b, false)
		case b == '\\':
			i++
			add(next, false)
		case b == '$' && strings.IndexByte("?*", next) >= 0 && next != 0:
			add(b, false)
			add(next, false)
			i++
		default:
			add(b, true)
		}
	}
	return c
}

// is reports whether the character at i is an unquoted b.
func (c *characters) is(i int, b byte) bool {
	return i >= 0 && i < len(c.text) && c.free[i] && c.text[i] == b
}
