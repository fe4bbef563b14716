//go:build linux

package interp

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
			b.assigns = assignmentLike(w)
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
