//go:build linux

package interp

import (
	"strings"
)

// piece is a part of a field. Quoted text is not split and no pattern.
type piece struct {
	text   string
	quoted bool
}

// builder makes fields out of the parts of a word.
type builder struct {
	s        *Shell
	fields   [][]piece
	current  []piece
	open     bool // the current field is one, even if it is empty
	splits   bool // what unquoted expansions give is split
	literals bool // and literal text, too: within ${x:-…}
	assigns  bool // ~ counts after each ":", too
	document bool // the text is a here-document's
	ifs      string
}

func (s *Shell) builder(splits bool) *builder {
	b := &builder{s: s, splits: splits, ifs: " \t\n"}
	if v := s.lookup("IFS"); v.set {
		b.ifs = v.text
	} else if v.local {
		b.ifs = " \t\n"
	}
	return b
}

func (b *builder) add(text string, quoted bool) {
	if text != "" || quoted {
		b.current = append(b.current, piece{text, quoted})
		b.open = true
	}
}

// next ends a field; an empty one only if it is open.
func (b *builder) next() {
	if b.open {
		b.force()
	}
}

func (b *builder) force() {
	b.fields = append(b.fields, b.current)
	b.current, b.open = nil, false
}

// expanded adds what an unquoted expansion gave.
func (b *builder) expanded(text string) {
	if !b.splits {
		b.add(text, false)
		return
	}
	for text != "" {
		i := strings.IndexAny(text, b.ifs)
		if i != 0 {
			if i < 0 {
				i = len(text)
			}
			b.add(text[:i], false)
			text = text[i:]
			continue
		}
		rest, hard := b.separator(text)
		if hard {
			b.force()
		} else {
			b.next()
		}
		text = rest
	}
}

// separator takes one separator off: blanks of IFS, and at most one other
// character of it, which ends a field even if that is empty.
func (b *builder) separator(text string) (rest string, hard bool) {
	for i, r := range text {
		switch {
		case !strings.ContainsRune(b.ifs, r):
			return text[i:], hard
		case strings.ContainsRune(" \t\n", r):
		case hard:
			return text[i:], hard
		default:
			hard = true
		}
	}
	return "", hard
}

// elements adds the values of $@, $* or an array.
func (b *builder) elements(values []string, star, quoted bool) {
	if quoted && star || !b.splits {
		glue := " "
		if star {
			glue = b.glue()
		}
		b.add(strings.Join(values, glue), quoted)
		return
	}
	if g := b.glue(); !quoted && strings.Trim(g, " \t\n") != "" { // keeps empty ones between others
		b.expanded(strings.Join(values, g))
		return
	}
	for i, v := range values {
		if i > 0 {
			if quoted {
				b.force()
			} else {
				b.next()
			}
		}
		if quoted {
			b.add(v, true)
		} else {
			b.expanded(v)
		}
	}
}

// glue is what "$*" stands between the values.
func (b *builder) glue() string {
	for _, r := range b.ifs {
		return string(r)
	}
	return ""
}

func (b *builder) done() [][]piece {
	b.next()
	return b.fields
}
