package gitconfig

import (
	"fmt"
	"strings"
)

const (
	maxText    = 1 << 20 // of a configuration
	maxSection = 4096    // of what is in brackets; it is compared with every entry
	maxEntries = 1 << 16 // enough for thirty thousand branches with two each
)

// SyntaxError says why a text cannot be parsed. Git refuses most such texts
// too.
type SyntaxError struct {
	Line int // from 1
	Why  string
}

// Error names the line and what git would refuse in it.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d of the git configuration: %s", e.Line, e.Why)
}

// Parse returns the entries of a text in order. If it returns no error, the
// entries are what git reads, except that git before 2.45 reads each blank
// inside of a value as a space; Parse keeps tabs.
//
// Parse refuses texts of more than 1 MiB or more than 65536 entries, and texts
// with a NUL or with a carriage return that is not followed by a line feed. The
// error is always a [SyntaxError]; the entries before the fault are returned
// with it.
func Parse(text []byte) ([]Entry, error) {
	if len(text) > maxText {
		return nil, &SyntaxError{1, fmt.Sprintf("it is larger than %d bytes", maxText)}
	}
	lines := strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n")
	p := &parser{text: lines, line: 1}
	p.entries = make([]Entry, 0, min(strings.Count(lines, "="), maxEntries))
	bad := strings.IndexAny(lines, "\x00\r")
	if bad >= 0 {
		p.text = lines[:bad]
	}
	if err := p.all(); err != nil {
		return p.entries, err
	}
	if bad >= 0 {
		return p.entries, p.fault("it holds a NUL, or a carriage return that no line feed follows")
	}
	return p.entries, nil
}

// parser reads a text once, from start to end.
type parser struct {
	text    string
	at      int // offset in text
	line    int
	last    byte  // the last result of next
	section Entry // section of the current line
	entries []Entry
}

// next returns the next character; after the end it returns line feeds, as git
// does.
func (p *parser) next() byte {
	if p.last == '\n' {
		p.line++
	}
	p.last = '\n'
	if p.at < len(p.text) {
		p.last = p.text[p.at]
	}
	p.at++
	return p.last
}

func (p *parser) ended() bool { return p.at > len(p.text) }

func (p *parser) fault(why string) error { return &SyntaxError{p.line, why} }

// all reads the whole file as git does (config.c, git_parse_source), and
// refuses what git would refuse.
func (p *parser) all() error {
	for {
		c := p.next()
		switch {
		case p.ended():
			return nil
		case c == '\n', blank(c):
		case c == '#', c == ';':
			p.comment()
		case c == '[':
			if err := p.header(); err != nil {
				return err
			}
		case letter(c):
			if err := p.entry(c); err != nil {
				return err
			}
		default:
			return p.fault("a line begins with a character that can begin neither a section nor a key")
		}
	}
}

// comment skips the rest of a line.
func (p *parser) comment() {
	for p.next() != '\n' {
	}
}

// header reads a section up to its closing bracket: [section], [section "sub"],
// or the old form [section.sub], which git converts to lower case.
func (p *parser) header() error {
	start := p.at
	c := p.next()
	for ; keyChar(c) || c == '.'; c = p.next() {
	}
	name := strings.ToLower(p.text[start:min(p.at-1, len(p.text))])
	if name == "" || name[0] == '.' {
		return p.fault("a section has no name")
	}
	section, sub, hasSub := strings.Cut(name, ".")
	if blank(c) {
		for ; blank(c); c = p.next() {
		}
		quoted, err := p.subsection(c)
		if err != nil {
			return err
		}
		if hasSub {
			sub += "."
		}
		sub, hasSub = sub+quoted, true
		c = p.next()
	}
	if c != ']' || p.ended() {
		return p.fault("a section is not closed as it should be")
	}
	if p.at-start > maxSection {
		return p.fault(fmt.Sprintf("the name of a section is longer than %d bytes", maxSection))
	}
	p.section = Entry{Section: section, Sub: sub, HasSub: hasSub}
	return nil
}

// subsection reads a quoted subsection; c should be its opening quote.
func (p *parser) subsection(c byte) (string, error) {
	if c != '"' {
		return "", p.fault("a subsection has to stand in quotes")
	}
	rest := p.text[min(p.at, len(p.text)):]
	if n := strings.IndexAny(rest, "\"\\\n"); n >= 0 && rest[n] == '"' { // the common case
		p.at += n
		p.next()
		return rest[:n], nil
	}
	var b strings.Builder
	for {
		c := p.next()
		if c == '"' {
			return b.String(), nil
		}
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", p.fault("a subsection does not end on its line")
		}
		b.WriteByte(c)
	}
}

// entry reads a key that begins with c, and its value if it has one.
func (p *parser) entry(c byte) error {
	if p.section.Section == "" {
		return p.fault("a key stands before the first section")
	}
	if len(p.entries) == maxEntries {
		return p.fault(fmt.Sprintf("it has more than %d entries", maxEntries))
	}
	start := p.at - 1
	for ; keyChar(c); c = p.next() {
	}
	e := p.section
	e.Name = strings.ToLower(p.text[start:min(p.at-1, len(p.text))])
	for ; blank(c); c = p.next() {
	}
	switch c {
	case '\n':
		e.NoValue = true
	case '=':
		var err error
		if e.Value, err = p.value(); err != nil {
			return err
		}
	default:
		return p.fault("a key is followed neither by = nor by the end of the line")
	}
	p.entries = append(p.entries, e)
	return nil
}

// value reads to the end of the line. It drops blanks around the value unless
// they are quoted.
func (p *parser) value() (string, error) {
	if v, ok := p.plain(); ok {
		return v, nil
	}
	var b strings.Builder
	quoted := false
	end := 0 // end of the value so far, without trailing blanks
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", p.fault("a quote is not closed on its line")
		case c == '\n':
			return b.String()[:end], nil
		case !quoted && blank(c):
			if b.Len() > 0 {
				b.WriteByte(c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			p.comment()
			return b.String()[:end], nil
		case c == '"':
			quoted = !quoted
		case c == '\\':
			if c = p.next(); c == '\n' {
				break // the value continues on the next line
			}
			i := strings.IndexByte(`tnb\"`, c)
			if i < 0 {
				return "", p.fault(`a \ stands before a character that it cannot stand before`)
			}
			b.WriteByte("\t\n\b\\\""[i])
		default:
			b.WriteByte(c)
		}
		end = b.Len()
	}
}

// plain reads the common case: a value without quotes and escapes.
func (p *parser) plain() (value string, ok bool) {
	n := strings.IndexAny(p.text[p.at:], "\n\"\\#;")
	if n < 0 || p.text[p.at+n] != '\n' {
		return "", false
	}
	value = p.text[p.at : p.at+n]
	p.at += n
	p.next()
	return strings.Trim(value, " \t"), true
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func keyChar(c byte) bool { return letter(c) || '0' <= c && c <= '9' || c == '-' }
