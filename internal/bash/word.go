//go:build linux

package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
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

// fields expands words to the arguments of a command.
func (s *Shell) fields(words []*syntax.Word) ([]string, error) {
	var expanded [][]piece // all words, before any is a pattern for names
	for _, w := range words {
		all, err := braces(w)
		if err != nil {
			return nil, err
		}
		for _, w := range all {
			b := s.builder(true)
			if err := b.word(w.Parts, false); err != nil {
				return nil, err
			}
			expanded = append(expanded, b.done()...)
			if len(expanded) > maxFields {
				return nil, &failure{text: "a command of more than 1,048,576 words", kind: endsShell, code: 1}
			}
		}
	}
	list := make([]string, 0, len(expanded))
	for _, f := range expanded {
		var err error
		if list, err = s.glob(list, f); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func join(f []piece) string {
	if len(f) == 1 {
		return f[0].text
	}
	var t strings.Builder
	for _, p := range f {
		t.WriteString(p.text)
	}
	return t.String()
}

// whole expands a word without splitting it.
func (s *Shell) whole(w *syntax.Word, set func(*builder)) ([]piece, error) {
	if w == nil {
		return nil, nil
	}
	b := s.builder(false)
	if set != nil {
		set(b)
	}
	err := b.word(w.Parts, b.document)
	return b.current, err
}

// string expands a word to one text.
func (s *Shell) string(w *syntax.Word) (string, error) {
	f, err := s.whole(w, nil)
	return join(f), err
}

// assigned expands the value of an assignment.
func (s *Shell) assigned(w *syntax.Word) (string, error) {
	f, err := s.whole(w, func(b *builder) { b.assigns = true })
	return join(f), err
}

// pattern expands a word to a pattern: what is quoted stands for itself.
func (s *Shell) pattern(w *syntax.Word) (string, error) {
	f, err := s.whole(w, nil)
	return patternOf(f), err
}

func patternOf(f []piece) string {
	var t strings.Builder
	for _, p := range f {
		if !p.quoted {
			t.WriteString(p.text)
			continue
		}
		t.WriteString(escaped(p.text))
	}
	return t.String()
}

// escaped makes a text a pattern that matches only it.
func escaped(text string) string {
	if !strings.ContainsAny(text, `*?[]\!@+()|^-:`) {
		return text
	}
	var t strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`*?[]\!@+()|^-:`, text[i]) >= 0 {
			t.WriteByte('\\')
		}
		t.WriteByte(text[i])
	}
	return t.String()
}
