package cmdline

import (
	"strings"
	"unicode/utf8"
)

// Split returns the words of one simple command, or a *[SyntaxError]. Patterns,
// braces and ~ stay literal; [Read] is for lines in which they must not.
//
// Blanks (space and tab, no other character) separate words. '…' is literal.
// In "…" a backslash escapes only $, `, ", \ and newline; elsewhere it escapes
// any character. Backslash-newline joins, except in single quotes. Line ends
// before the first and after the last word are trimmed.
//
// The source of the rules is POSIX.1-2017, XCU 2.2 and 2.3; see the package
// comment for what is refused and what stays literal.
func Split(line string) ([]string, error) {
	s := &splitter{src: line}
	if err := s.split(); err != nil {
		return nil, err
	}
	return s.words, nil
}

// split reads the whole line.
func (s *splitter) split() error {
	if i := strings.IndexByte(s.src, 0); i >= 0 {
		return s.fault(NUL, i, "")
	}
	s.trimStart()
	for s.blanks(); !s.atEnd(); s.blanks() {
		w, err := s.word()
		if err != nil {
			return err
		}
		if len(s.words) == 0 {
			if err := s.commandWord(w); err != nil {
				return err
			}
		}
		if s.each != nil {
			if err := s.each(w); err != nil {
				return err
			}
		}
		s.words = append(s.words, w.text)
	}
	if len(s.words) == 0 {
		return &SyntaxError{Kind: Empty}
	}
	return nil
}

// splitter reads a line from left to right. pos never stands on a
// backslash-newline, except inside single quotes.
type splitter struct {
	src   string
	pos   int
	words []string
	each  func(word) error // judges a word that was read; nil: none is
}

// word is one word as read.
type word struct {
	text  string
	start int
	// plain is the length of the unquoted beginning of text, in which a shell
	// looks for assignments. A keyword must not be quoted at all.
	plain  int
	quoted bool
}

// trimStart skips blanks, line ends and joins before the first word.
func (s *splitter) trimStart() {
	for {
		s.join()
		switch {
		case s.peek(0) == ' ', s.peek(0) == '\t', s.peek(0) == '\n':
			s.pos++
		case strings.HasPrefix(s.src[s.pos:], "\r\n"):
			s.pos += 2
		default:
			return
		}
	}
}

// blanks skips the blanks that separate words.
func (s *splitter) blanks() {
	for s.join(); s.peek(0) == ' ' || s.peek(0) == '\t'; s.join() {
		s.pos++
	}
}

// atEnd reports whether only line ends and blanks are left.
func (s *splitter) atEnd() bool {
	return onlyLineEnds(s.src[s.pos:])
}

func onlyLineEnds(rest string) bool {
	if rest == "" {
		return true
	}
	if rest[0] != '\n' && !strings.HasPrefix(rest, "\r\n") {
		return false
	}
	return strings.Trim(strings.ReplaceAll(rest, "\r\n", "\n"), "\n \t") == ""
}

// join skips backslash-newline pairs.
func (s *splitter) join() {
	for strings.HasPrefix(s.src[s.pos:], "\\\n") {
		s.pos += 2
	}
}

// peek returns the byte n places ahead, 0 beyond the end; no byte of a line is
// 0.
func (s *splitter) peek(n int) byte {
	if s.pos+n < len(s.src) {
		return s.src[s.pos+n]
	}
	return 0
}

// step passes one byte and the joins after it.
func (s *splitter) step() {
	s.pos++
	s.join()
}

// word reads one word. It stops before a blank or at the end of the line.
func (s *splitter) word() (word, error) {
	w := word{start: s.pos}
	var b strings.Builder
	quoted := func() {
		if !w.quoted {
			w.quoted, w.plain = true, b.Len()
		}
	}
	for {
		c := s.peek(0)
		var err error
		switch {
		case c == 0, c == ' ', c == '\t', (c == '\r' || c == '\n') && s.atEnd():
			w.text = b.String()
			if !w.quoted {
				w.plain = len(w.text)
			}
			return w, nil
		case c == '\n':
			err = s.fault(Newline, s.pos, "")
		case strings.IndexByte("|&;<>()", c) >= 0:
			err = s.operator()
		case c == '#' && s.pos == w.start:
			err = s.fault(Comment, s.pos, "#")
		case c == '\'':
			quoted()
			err = s.single(&b)
		case c == '"':
			quoted()
			err = s.double(&b)
		case c == '\\':
			quoted()
			err = s.escaped(&b)
		case c == '`':
			err = s.fault(Substitution, s.pos, "`")
		case c == '$':
			err = s.dollar(&b, false)
		default:
			b.WriteByte(c)
			s.step()
		}
		if err != nil {
			return w, err
		}
	}
}

// single reads '…'. No join happens inside.
func (s *splitter) single(b *strings.Builder) error {
	length := strings.IndexByte(s.src[s.pos+1:], '\'')
	if length < 0 {
		return s.fault(UnbalancedQuote, s.pos, "'")
	}
	b.WriteString(s.src[s.pos+1 : s.pos+1+length])
	s.pos += 1 + length
	s.step()
	return nil
}

// double reads "…".
func (s *splitter) double(b *strings.Builder) error {
	open := s.pos
	s.step()
	for {
		switch c := s.peek(0); c {
		case 0:
			return s.fault(UnbalancedQuote, open, `"`)
		case '"':
			s.step()
			return nil
		case '`':
			return s.fault(Substitution, s.pos, "`")
		case '$':
			if err := s.dollar(b, true); err != nil {
				return err
			}
		case '\\':
			if next := s.peek(1); next != 0 && strings.IndexByte("$`\"\\", next) >= 0 {
				s.pos++
				c = next
			}
			b.WriteByte(c)
			s.step()
		default:
			b.WriteByte(c)
			s.step()
		}
	}
}

// escaped reads a backslash and the character after it, outside of quotes.
func (s *splitter) escaped(b *strings.Builder) error {
	if s.peek(1) == 0 {
		return s.fault(TrailingBackslash, s.pos, `\`)
	}
	s.pos++
	b.WriteByte(s.peek(0))
	s.step()
	return nil
}

// dollar reads a $, which is literal unless a shell would expand it or start a
// quote with it.
func (s *splitter) dollar(b *strings.Builder, inQuotes bool) error {
	at := s.pos
	s.step()
	c := s.peek(0)
	switch {
	case c == '(':
		return s.fault(Substitution, at, "$(")
	case c == '{':
		return s.fault(Expansion, at, "${")
	case c == '[': // arithmetic in bash, literal in dash
		return s.fault(Expansion, at, "$[")
	case isNameStart(c):
		end := s.pos
		for end < len(s.src) && isName(s.src[end]) {
			end++
		}
		return s.fault(Expansion, at, "$"+s.src[s.pos:end])
	case !inQuotes && (c == '\'' || c == '"'):
		return s.fault(DollarQuote, at, "$"+string(c))
	}
	b.WriteByte('$')
	return nil
}

// operator refuses the longest operator at pos.
func (s *splitter) operator() error {
	at, found := s.pos, ""
	for c := s.peek(0); c != 0; c = s.peek(0) {
		if !isOperator(found + string(c)) {
			break
		}
		found += string(c)
		s.step()
	}
	return s.fault(Operator, at, found)
}

// fault makes the error for the text found at byte at.
func (s *splitter) fault(k Kind, at int, found string) *SyntaxError {
	e := &SyntaxError{Kind: k, Column: utf8.RuneCountInString(s.src[:at]) + 1, Found: found}
	if len(s.words) > 0 {
		e.first = s.words[0]
	}
	return e
}
