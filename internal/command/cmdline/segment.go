package cmdline

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// hasPattern reports whether a shell would look for files that match the word.
func (c *characters) hasPattern() bool {
	open := false
	for i, b := range c.text {
		if !c.free[i] {
			continue
		}
		switch b {
		case '*', '?':
			return true
		case '[':
			open = true
		case ']':
			if open {
				return true
			}
		}
	}
	return false
}

// segment is the part of a pattern between two slashes.
type segment struct {
	text    string // of a segment without signs
	literal bool
	any     bool // what it matches is not clear, so it may match every name
	parts   []part
}

// part matches one character, or any number of them.
type part struct {
	star bool
	set  *set // nil: the character itself
	char byte
}

// segments divides a pattern at its slashes, which quotes do not change.
func (c *characters) segments() []segment {
	var list []segment
	for from := 0; ; {
		to := from
		for to < len(c.text) && c.text[to] != '/' {
			to++
		}
		list = append(list, (&characters{c.text[from:to], c.free[from:to]}).segment())
		if to == len(c.text) {
			return list
		}
		from = to + 1
	}
}

// maxSegment bounds the part of a pattern between two slashes that is understood.
// Names of files have at most 255 bytes.
const maxSegment = 1024

// segment compiles one part of a pattern between slashes. A part that is too
// long, or has a bracket expression that shells read in different ways, matches
// any name: then the pattern counts as one that matches, and is refused.
func (c *characters) segment() segment {
	if !c.hasPattern() {
		return segment{text: string(c.text), literal: true}
	}
	if len(c.text) > maxSegment {
		return segment{any: true}
	}
	var s segment
	for i := 0; i < len(c.text); i++ {
		b := c.text[i]
		switch {
		case c.is(i, '*'):
			if n := len(s.parts); n == 0 || !s.parts[n-1].star {
				s.parts = append(s.parts, part{star: true})
			}
		case c.is(i, '?'):
			s.parts = append(s.parts, part{set: &set{any: true}})
		case c.is(i, '['):
			one, end, clear := c.set(i)
			switch {
			case !clear:
				return segment{any: true}
			case end < 0:
				s.parts = append(s.parts, part{char: b})
			default:
				s.parts = append(s.parts, part{set: one})
				i = end
			}
		default:
			s.parts = append(s.parts, part{char: b})
		}
	}
	return s
}

// matches reports whether a shell would take name for the segment, in a locale
// whose characters are bytes or in one of UTF-8. A dot at the beginning of a name
// must be written out.
func (s *segment) matches(name string) bool {
	if s.literal {
		return name == s.text
	}
	if s.any {
		return true
	}
	if name != "" && name[0] == '.' && (len(s.parts) == 0 || s.parts[0].star || s.parts[0].set != nil || s.parts[0].char != '.') {
		return false
	}
	return s.match(name, 1) || s.match(name, utf8.UTFMax)
}

// match is the usual search with one way back, to the last star. Each character
// of name has at most width bytes.
func (s *segment) match(name string, width int) bool {
	p, at, star, from := 0, 0, -1, 0
	for at < len(name) {
		if p < len(s.parts) && s.parts[p].star {
			star, from = p, at
			p++
			continue
		}
		if p < len(s.parts) {
			if n := s.parts[p].length(name[at:], width); n > 0 {
				p, at = p+1, at+n
				continue
			}
		}
		if star < 0 {
			return false
		}
		from += size(name[from:], width)
		p, at = star+1, from
	}
	for p < len(s.parts) && s.parts[p].star {
		p++
	}
	return p == len(s.parts)
}

// size returns the length of the first character.
func size(name string, width int) int {
	if width == 1 {
		return 1
	}
	_, n := utf8.DecodeRuneInString(name)
	return n
}

// length returns how many bytes of name a part matches; 0: none.
func (p *part) length(name string, width int) int {
	if p.set == nil {
		if name[0] == p.char {
			return 1
		}
		return 0
	}
	if n := size(name, width); p.set.has(name[:n]) {
		return n
	}
	return 0
}

// set is what stands in brackets.
type set struct {
	any  bool
	not  bool
	ends [][2]byte // ranges of ASCII
}

func (s *set) has(char string) bool {
	if s.any {
		return true
	}
	for _, r := range s.ends {
		if len(char) == 1 && r[0] <= char[0] && char[0] <= r[1] {
			return !s.not
		}
	}
	return s.not
}

// set reads the brackets at i. end is the place of the closing one; -1: there is
// none, so the first is text. clear is false where shells differ about the end.
// Where they differ about the characters, or the locale decides, the set has all.
func (c *characters) set(i int) (s *set, end int, clear bool) {
	s = &set{}
	classes := false
	i++
	if c.is(i, '!') || c.is(i, '^') {
		s.not, s.any = true, c.is(i, '^') // which is a character of the set to dash
		i++
	}
	for first := true; i < len(c.text); first = false {
		switch {
		case c.is(i, ']') && !first:
			return s, i, true
		case c.is(i, '[') && c.opensClass(i+1):
			ranges, after := c.class(i)
			if ranges == nil {
				return nil, -1, false
			}
			s.ends, i, classes = append(s.ends, ranges...), after, true
			continue
		}
		low, high := c.text[i], c.text[i]
		if c.is(i+1, '-') && i+2 < len(c.text) && !c.is(i+2, ']') {
			if c.is(i+2, '[') {
				return nil, -1, false
			}
			high = c.text[i+2]
			i += 2
		}
		i++
		if low >= 0x80 || high >= 0x80 || low > high {
			s.any = true
		}
		s.ends = append(s.ends, [2]byte{low, high})
	}
	return nil, -1, !classes
}

// opensClass reports whether one of the signs of [:name:], [.x.] and [=x=] is at i
// and stands before a ] again. If not, as in [[...slug]], the [ is a character.
func (c *characters) opensClass(i int) bool {
	if i >= len(c.text) || strings.IndexByte(":.=", c.text[i]) < 0 {
		return false
	}
	return bytes.Contains(c.text[i+1:], []byte{c.text[i], ']'})
}

// class reads [:name:] at i, and returns the ranges of it and the place after it;
// nil if it is none, or depends on more than ASCII.
func (c *characters) class(i int) ([][2]byte, int) {
	for name, ranges := range classes {
		end := i + len(name) + 4
		if end > len(c.text) || string(c.text[i:end]) != "[:"+name+":]" {
			continue
		}
		for ; i < end; i++ {
			if !c.free[i] {
				return nil, 0
			}
		}
		return ranges, end
	}
	return nil, 0
}

// classes are those of POSIX.1-2017 XBD 7.3.1, with all that is beyond ASCII,
// because the locale says which of it belongs to them.
var classes = map[string][][2]byte{
	"alnum":  {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}},
	"alpha":  {{'A', 'Z'}, {'a', 'z'}},
	"blank":  {{' ', ' '}, {'\t', '\t'}},
	"cntrl":  {{0, 31}, {127, 127}},
	"digit":  {{'0', '9'}},
	"graph":  {{'!', '~'}},
	"lower":  {{'a', 'z'}},
	"print":  {{' ', '~'}},
	"punct":  {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}},
	"space":  {{' ', ' '}, {'\t', '\r'}},
	"upper":  {{'A', 'Z'}},
	"xdigit": {{'0', '9'}, {'A', 'F'}, {'a', 'f'}},
}
